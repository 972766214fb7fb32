//! The walk: one query on its way down through the plugins and its reply on the way back up.
//!
//! A walk is one value that can be put aside and taken up again. The worker that received the packet drives
//! it; if a plugin asks for time, the walk is put aside with what it waits for, on the worker's thread or on tokio, and
//! is driven from there.
//!
//! ```text
//!            ┌────────── Next ──────────┐          Answer, Fail, Drop
//!   enter ─→ Down(place) ───────────────┴──────────────→ Up(place) ──→ done
//!              ↑  │ Wait                                   │  │ Wait
//!              │  └→ waiting ─→ resumed                    │  └→ waiting ─→ resumed
//!              └───────────────────── Again ───────────────┘
//! ```

mod lookup;
mod spans;
mod steps;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use wire::{Query, Question, Rcode, Reply};

use crate::explain::Note;
use crate::service::ZoneNumber;
use crate::{Block, Client, Messages, Outcome, Sent, Service, Slot, Step, Task, Turn, Visit};

pub use lookup::{Below, Found, Lookup};
pub(crate) use lookup::{below, finish, lookup};
pub use spans::{Span, Spans};

/// A query on its way. Made once, used for many queries one after the other.
pub struct Walk {
    pub(crate) query: Query,
    pub(crate) reply: Reply,
    pub(crate) client: Client,
    pub(crate) slots: Vec<Slot>,
    pub(crate) trail: Trail,
}

/// The part of a walk that belongs to no plugin.
pub(crate) struct Trail {
    direction: Direction,
    /// Where in the chain the walk is.
    pub place: usize,
    /// Plugins before this place belong to another walk and see nothing of this one.
    floor: usize,
    /// Where the outcome came from; plugins behind it never saw the query.
    source: usize,
    pub outcome: Outcome,
    pub error: Option<Cow<'static, str>>,
    /// Questions to put back, with the place of the plugin that changed them.
    pub undo: Vec<(usize, Question)>,
    /// The question below the plugin that is visited on the way up, if it changed it; at most one. Not in place, since few
    /// walks ever have one and many wait.
    pub asked: Vec<Question>,
    pub answered_by: Option<&'static str>,
    /// The place of the same plugin.
    pub answered_at: Option<usize>,
    pub deadline: Option<Instant>,
    /// When the query came, for those who measure.
    pub began: Option<Instant>,
    /// When the clock was read last; None after a wait.
    pub time: Option<Instant>,
    /// When the query had been measured.
    pub ended: Option<Instant>,
    /// Of the block's zones the one that the query's name is in.
    pub zone: ZoneNumber,
    pub depth: u8,
    /// The plugins whose look-ups this walk is inside of, as many as it is deep.
    pub askers: Vec<&'static str>,
    pub notes: Option<Vec<Note>>,
    /// What a proxy said about the client beside its address.
    pub announced: Vec<u8>,
    /// The steps of a traced query; whoever traces sets and takes them.
    pub spans: Option<Box<Spans>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Down,
    Up,
}

/// How far a walk got.
pub(crate) enum Driven {
    /// To the end; the outcome is in the walk.
    Done,
    /// A plugin needs time.
    Waiting(Pending),
    /// The reply is a series of messages.
    Streaming(Box<dyn Messages>),
}

/// What a walk waits for.
pub(crate) enum Pending {
    Down(Task<Step>),
    Up(Task<Turn>),
}

impl Default for Walk {
    fn default() -> Walk {
        Walk::new()
    }
}

impl Walk {
    pub fn new() -> Walk {
        Walk {
            query: Query::new(),
            reply: Reply::new(),
            client: Client::nobody(),
            slots: Vec::new(),
            trail: Trail {
                direction: Direction::Down,
                place: 0,
                floor: 0,
                source: 0,
                outcome: Outcome::Failure,
                error: None,
                undo: Vec::new(),
                asked: Vec::new(),
                answered_by: None,
                answered_at: None,
                deadline: None,
                began: None,
                time: None,
                ended: None,
                zone: None,
                depth: 0,
                askers: Vec::new(),
                notes: None,
                announced: Vec::new(),
                spans: None,
            },
        }
    }

    /// Gets ready for the next query; `time` is the clock's, if somebody just read it.
    pub(crate) fn reset(&mut self, client: Client, time: Option<Instant>) {
        self.client = client;
        self.reply.clear();
        let trail = &mut self.trail;
        trail.floor = 0;
        trail.outcome = Outcome::Failure;
        trail.error = None;
        trail.undo.clear();
        trail.asked.clear();
        trail.answered_by = None;
        trail.answered_at = None;
        trail.deadline = None;
        trail.began = None;
        trail.time = time;
        trail.ended = None;
        trail.depth = 0;
    }

    /// Keeps what a proxy said about the client of the next query.
    pub(crate) fn announce(&mut self, tlvs: &[u8]) {
        self.trail.announced.clear();
        self.trail.announced.extend_from_slice(tlvs);
    }

    /// Ends the walk before any plugin saw it.
    pub(crate) fn refuse(&mut self, rcode: Rcode, why: &'static str) -> Driven {
        self.reply.begin_error(&self.query, rcode);
        self.trail.outcome = Outcome::Failure;
        if let Some(notes) = &mut self.trail.notes {
            notes.push(Note::new("server", self.trail.depth, format!("{rcode}: {why}")));
        }
        Driven::Done
    }

    /// Stands before the first plugin of a block.
    pub(crate) fn enter(&mut self, block: &Arc<Block>) {
        self.enter_at(block, 0);
    }

    fn enter_at(&mut self, block: &Arc<Block>, place: usize) {
        if self.slots.len() < block.chain().len() {
            self.slots.resize_with(block.chain().len(), Slot::default);
        }
        self.trail.place = place;
        self.trail.direction = Direction::Down;
    }

    /// Goes as far as possible without waiting.
    pub(crate) fn drive(&mut self, block: &Arc<Block>, service: &Arc<Service>) -> Driven {
        self.visit(block, service).drive()
    }

    /// Takes a finished task in and drives on.
    pub(crate) fn resume(&mut self, resumed: Resumed, block: &Arc<Block>, service: &Arc<Service>) -> Driven {
        self.trail.time = None;
        self.visit(block, service).resume(resumed)
    }

    fn visit<'a>(&'a mut self, block: &'a Arc<Block>, service: &'a Arc<Service>) -> Visit<'a> {
        Visit {
            query: &mut self.query,
            reply: &mut self.reply,
            client: &self.client,
            slots: &mut self.slots,
            trail: &mut self.trail,
            block,
            service,
        }
    }

    /// Fills the next message of a stream and takes it up past the plugins above the one that streams.
    pub(crate) fn stream_next(
        &mut self,
        messages: &mut dyn Messages,
        block: &Arc<Block>,
        service: &Arc<Service>,
    ) -> bool {
        let source = self.trail.place;
        self.reply.begin(&self.query);
        if !messages.next(&self.query, &mut self.reply) {
            return false;
        }
        self.trail.outcome = Outcome::Records;
        self.trail.direction = Direction::Up;
        // Nobody on the way up may wait or ask again in the middle of a transfer.
        drop(self.visit(block, service).up::<false>());
        self.trail.place = source;
        true
    }

    /// The bits of the places up to the plugin that ended the way down.
    pub(crate) fn as_far_as_it_came(&self) -> u64 {
        up_to(self.trail.source + 1)
    }

    /// What the plugin at a place sees when all is written.
    pub(crate) fn sent<'w>(&'w mut self, block: &'w Block, place: usize) -> Sent<'w> {
        Sent {
            query: &self.query,
            reply: &self.reply,
            client: &self.client,
            slots: &mut self.slots,
            trail: &self.trail,
            block,
            place,
        }
    }

    /// Writes the reply's bytes and shows them to the plugins that want the final packet. False when the
    /// client gets nothing.
    pub(crate) fn encode(&mut self, block: Option<&Arc<Block>>, out: &mut Vec<u8>) -> bool {
        if self.trail.outcome == Outcome::Drop {
            return false;
        }
        let limit = Service::limit(self.client.transport, &self.query);
        self.reply.encode(&self.query, limit, out);
        if let Some(block) = block
            && block.wants_sent != 0
        {
            self.show_sent(block, out);
        }
        true
    }

    /// The final bytes pass the plugins from the innermost outwards, as the reply did.
    fn show_sent(&mut self, block: &Block, out: &mut Vec<u8>) {
        let mut wanted = block.wants_sent & self.as_far_as_it_came();
        while wanted != 0 {
            let place = 63 - wanted.leading_zeros() as usize;
            wanted &= !(1 << place);
            block.chain()[place].sent(&mut self.sent(block, place), out);
        }
    }

    /// Gives up what plugins hold and remember. What is there for others, such as a place they wait for, must not
    /// outlive the query; and metadata is asked for before the next query comes to a plugin.
    pub(crate) fn let_go(&mut self) {
        self.slots.fill_with(Slot::default);
    }

    /// Forgets what a panic left half done and fails the query.
    pub(crate) fn recover(&mut self) {
        self.let_go();
        if let Some((_, first)) = self.trail.undo.drain(..).next() {
            self.query.set_question(first);
        }
        self.reply.begin_error(&self.query, Rcode::SERVFAIL);
        self.trail.outcome = Outcome::Failure;
    }
}

/// The bits of the places before `place`.
fn up_to(place: usize) -> u64 {
    1u64.checked_shl(place as u32).unwrap_or(0).wrapping_sub(1)
}

/// A task that came to its end, or did not in time.
pub(crate) enum Resumed {
    Down(crate::Resume<Step>),
    Up(crate::Resume<Turn>),
    /// Given up, and why.
    GivenUp(Direction, &'static str),
}

/// Why a query is given up that has a deadline.
const TOO_LONG: &str = "the query took longer than it may";

impl Pending {
    pub(crate) fn direction(&self) -> Direction {
        match self {
            Pending::Down(_) => Direction::Down,
            Pending::Up(_) => Direction::Up,
        }
    }

    /// Waits, but not beyond the deadline.
    pub(crate) async fn wait(self, deadline: Option<Instant>) -> Resumed {
        let direction = self.direction();
        let work = async {
            match self {
                Pending::Down(task) => Resumed::Down(task.await),
                Pending::Up(task) => Resumed::Up(task.await),
            }
        };
        match deadline {
            None => work.await,
            Some(end) => tokio::time::timeout_at(end.into(), work)
                .await
                .unwrap_or(Resumed::GivenUp(direction, TOO_LONG)),
        }
    }
}
