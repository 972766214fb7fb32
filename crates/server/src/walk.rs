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

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use wire::{NameBuf, Query, Question, Rcode, Reply};

use crate::explain::Note;
use crate::visit::Slots;
use crate::{Block, Client, Messages, Outcome, Sent, Service, Slot, Step, Task, Turn, Visit};

use lookup::MAX_DEPTH;
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
    direction: Direction,
    /// Plugins before this place belong to another walk and see nothing of this one.
    floor: usize,
}

/// The part of a walk that belongs to no plugin.
pub(crate) struct Trail {
    place: usize,
    /// Where the outcome came from; plugins behind it never saw the query.
    source: usize,
    pub outcome: Outcome,
    pub error: Option<Cow<'static, str>>,
    /// Questions to put back, with the place of the plugin that changed them.
    pub undo: Vec<(usize, Question)>,
    pub asked: Option<Question>,
    pub answered_by: Option<&'static str>,
    pub deadline: Option<Instant>,
    /// When the clock was read last; None after a wait.
    pub time: Option<Instant>,
    pub zone: NameBuf,
    pub depth: u8,
    /// The plugins whose look-ups this walk is inside of, as many as it is deep.
    pub askers: [&'static str; MAX_DEPTH as usize],
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
                place: 0,
                source: 0,
                outcome: Outcome::Failure,
                error: None,
                undo: Vec::new(),
                asked: None,
                answered_by: None,
                deadline: None,
                time: None,
                zone: NameBuf::root(),
                depth: 0,
                askers: [""; MAX_DEPTH as usize],
                notes: None,
                announced: Vec::new(),
                spans: None,
            },
            direction: Direction::Down,
            floor: 0,
        }
    }

    /// Gets ready for the next query.
    pub(crate) fn reset(&mut self, client: Client) {
        self.client = client;
        self.floor = 0;
        let trail = &mut self.trail;
        trail.outcome = Outcome::Failure;
        trail.error = None;
        trail.undo.clear();
        trail.asked = None;
        trail.answered_by = None;
        trail.deadline = None;
        trail.time = None;
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
            notes.push(Note { plugin: "server", depth: self.trail.depth, text: format!("{rcode}: {why}") });
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
        self.direction = Direction::Down;
    }

    /// Goes as far as possible without waiting.
    pub(crate) fn drive(&mut self, block: &Arc<Block>, service: &Arc<Service>) -> Driven {
        if block.traced {
            return self.drive_traced(block, service);
        }
        loop {
            let stopped = match self.direction {
                Direction::Down => self.step_down(block, service),
                Direction::Up => self.step_up(block, service),
            };
            if let Some(driven) = stopped {
                return driven;
            }
        }
    }

    // Always: a step is short, and there are ten of them to a query.
    #[inline(always)]
    fn step_down(&mut self, block: &Arc<Block>, service: &Arc<Service>) -> Option<Driven> {
        let Some(place) = self.next_down(block) else {
            let end = block.chain().len();
            self.trail.place = end;
            let last = block.chain().last().map_or("server", |plugin| plugin.name());
            let error = format!("plugin/{last}: no next plugin found");
            return self.took(Step::error(Rcode::SERVFAIL, error), last);
        };
        self.trail.place = place;
        let plugin = &block.chain()[place];
        let mut visit = self.visit(block, service);
        visit.slot.words = [0; 4];
        visit.slot.boxed = None;
        match plugin.query(&mut visit) {
            // Most plugins only let the query pass.
            Step::Next => {
                self.trail.place = place + 1;
                None
            }
            step => self.took(step, plugin.name()),
        }
    }

    /// The next plugin that looks at the query.
    fn next_down(&self, block: &Block) -> Option<usize> {
        let place = self.trail.place;
        let ahead = block.wants_query.checked_shr(place as u32).unwrap_or(0);
        (ahead != 0).then(|| place + ahead.trailing_zeros() as usize)
    }

    /// The next plugin that looks at the reply.
    fn next_up(&self, block: &Block) -> Option<usize> {
        let wanted = match self.trail.outcome {
            Outcome::Records => block.wants_records,
            Outcome::Failure => block.wants_failure,
            Outcome::Drop => block.wants_drop,
        };
        let passed = wanted & up_to(self.trail.place) & !up_to(self.floor);
        (passed != 0).then(|| 63 - passed.leading_zeros() as usize)
    }

    /// Goes on from what a plugin did with the query.
    fn took(&mut self, step: Step, plugin: &'static str) -> Option<Driven> {
        self.trail.source = self.trail.place;
        match step {
            Step::Next => {
                self.trail.place += 1;
                return None;
            }
            Step::Answer => {
                self.trail.outcome = Outcome::Records;
                self.trail.answered_by = Some(plugin);
            }
            Step::Fail { rcode, error } => {
                self.reply.begin_error(&self.query, rcode);
                self.trail.outcome = Outcome::Failure;
                self.trail.error = error;
            }
            Step::Drop => {
                self.trail.outcome = Outcome::Drop;
                self.trail.answered_by = Some(plugin);
            }
            Step::Wait(task) => return Some(Driven::Waiting(Pending::Down(task))),
            Step::Stream(messages) => {
                self.trail.outcome = Outcome::Records;
                self.trail.answered_by = Some(plugin);
                return Some(Driven::Streaming(messages));
            }
        }
        self.explain_outcome(plugin);
        self.direction = Direction::Up;
        None
    }

    fn explain_outcome(&mut self, plugin: &'static str) {
        let Some(notes) = &mut self.trail.notes else { return };
        let text = match self.trail.outcome {
            Outcome::Records => match self.reply.records().len() {
                1 => format!("answered {} with 1 record", self.reply.rcode),
                count => format!("answered {} with {count} records", self.reply.rcode),
            },
            Outcome::Failure => match &self.trail.error {
                Some(error) => format!("failed with {}: {error}", self.reply.rcode),
                None => format!("failed with {}", self.reply.rcode),
            },
            Outcome::Drop => "dropped the query".to_owned(),
        };
        notes.push(Note { plugin, depth: self.trail.depth, text });
    }

    #[inline(always)]
    fn step_up(&mut self, block: &Arc<Block>, service: &Arc<Service>) -> Option<Driven> {
        let Some(place) = self.next_up(block) else {
            self.restore(0);
            return Some(Driven::Done);
        };
        self.restore(place);
        self.trail.place = place;
        match block.chain()[place].reply(&mut self.visit(block, service)) {
            Turn::Up => None,
            turn => self.turned(turn),
        }
    }

    /// Goes on from what a plugin did with the reply.
    fn turned(&mut self, turn: Turn) -> Option<Driven> {
        match turn {
            Turn::Up => {}
            Turn::Again => {
                self.trail.error = None;
                self.trail.answered_by = None;
                self.trail.place += 1;
                self.direction = Direction::Down;
            }
            Turn::Wait(task) => return Some(Driven::Waiting(Pending::Up(task))),
        }
        None
    }

    /// Puts back the questions changed by the plugins from `place` on. Owners that followed the changed
    /// question keep the name they were found under.
    fn restore(&mut self, place: usize) {
        if self.trail.undo.is_empty() {
            return;
        }
        self.trail.asked = None;
        while let Some((changed_at, _)) = self.trail.undo.last() {
            if *changed_at < place {
                break;
            }
            let at_this_plugin = *changed_at == place;
            self.reply.pin_owners(self.query.question.name());
            if let Some((_, before)) = self.trail.undo.pop() {
                let asked = self.query.set_question(before);
                if at_this_plugin && self.trail.asked.is_none() {
                    self.trail.asked = Some(asked);
                }
            }
        }
    }

    /// Takes a finished task in and drives on.
    pub(crate) fn resume(&mut self, resumed: Resumed, block: &Arc<Block>, service: &Arc<Service>) -> Driven {
        self.trail.time = None;
        let stopped = match resumed {
            Resumed::Down(then) => {
                let step = then(&mut self.visit(block, service));
                let plugin = block.chain()[self.trail.place].name();
                self.took(step, plugin)
            }
            Resumed::Up(then) => {
                let turn = then(&mut self.visit(block, service));
                self.turned(turn)
            }
            Resumed::TimedOut(Direction::Down) => {
                let error = "the query took longer than it may";
                let plugin = block.chain()[self.trail.place].name();
                self.took(Step::error(Rcode::SERVFAIL, error), plugin)
            }
            Resumed::TimedOut(Direction::Up) => None,
        };
        stopped.unwrap_or_else(|| self.drive(block, service))
    }

    fn visit<'a>(&'a mut self, block: &'a Arc<Block>, service: &'a Arc<Service>) -> Visit<'a> {
        let place = self.trail.place;
        let (before, rest) = self.slots.split_at_mut(place);
        let (slot, after) =
            rest.split_first_mut().expect("a slot for every plugin, made on entering the block");
        Visit {
            query: &mut self.query,
            reply: &mut self.reply,
            client: &self.client,
            slot,
            slots: Slots { before, after },
            trail: &mut self.trail,
            block,
            service,
            place,
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
        self.direction = Direction::Up;
        // Nobody on the way up may wait or ask again in the middle of a transfer.
        while self.step_up(block, service).is_none() && self.direction == Direction::Up {}
        self.trail.place = source;
        true
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
            show_sent(block, &self.query, &self.reply, &self.client, &mut self.slots, &self.trail, out);
        }
        true
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
    if place < 64 { (1 << place) - 1 } else { u64::MAX }
}

/// The final bytes pass the plugins from the innermost outwards, as the reply did.
fn show_sent(
    block: &Block,
    query: &Query,
    reply: &Reply,
    client: &Client,
    slots: &mut [Slot],
    trail: &Trail,
    out: &mut Vec<u8>,
) {
    let mut wanted = block.wants_sent & up_to(trail.source + 1);
    while wanted != 0 {
        let place = 63 - wanted.leading_zeros() as usize;
        wanted &= !(1 << place);
        let (before, rest) = slots.split_at_mut(place);
        let Some((slot, after)) = rest.split_first_mut() else { continue };
        let mut sent =
            Sent { query, reply, client, slot, slots: Slots { before, after }, trail, block, place };
        block.chain()[place].sent(&mut sent, out);
    }
}

/// A task that came to its end, or did not in time.
pub(crate) enum Resumed {
    Down(crate::Resume<Step>),
    Up(crate::Resume<Turn>),
    TimedOut(Direction),
}

impl Pending {
    /// Waits, but not beyond the deadline.
    pub(crate) async fn wait(self, deadline: Option<Instant>) -> Resumed {
        let direction = match self {
            Pending::Down(_) => Direction::Down,
            Pending::Up(_) => Direction::Up,
        };
        let work = async {
            match self {
                Pending::Down(task) => Resumed::Down(task.await),
                Pending::Up(task) => Resumed::Up(task.await),
            }
        };
        match deadline {
            None => work.await,
            Some(end) => {
                tokio::time::timeout_at(end.into(), work).await.unwrap_or(Resumed::TimedOut(direction))
            }
        }
    }
}
