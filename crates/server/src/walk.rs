//! The walk: one query on its way down through the plugins and its reply on the way back up.
//!
//! A walk is one value that can be suspended and resumed. The worker that received the packet drives it; when a plugin
//! returns `Wait`, the walk is suspended with its pending task, on the worker's thread or on tokio, and resumes there.
//!
//! ```text
//!            ┌────────── Next ──────────┐          Answer, Fail, Drop
//!   enter ─→ Down(position) ────────────┴──────────────→ Up(position) ──→ done
//!              ↑  │ Wait                                   │  │ Wait
//!              │  └→ waiting ─→ resumed                    │  └→ waiting ─→ resumed
//!              └───────────────────── Again ───────────────┘
//! ```

pub(crate) mod block;
pub(crate) mod client;
mod engine;
pub(crate) mod exchange;
pub mod explain;
mod lookup;
pub(crate) mod service;
mod spans;
pub(crate) mod stream;
pub(crate) mod visit;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use wire::{Query, Question, Rcode, Reply};

use crate::walk::explain::Note;
use crate::walk::service::ZoneNumber;
use crate::walk::stream::Messages;
use crate::{Block, Client, Outcome, Plugin, Purpose, Sent, Service, Slot, Step, Task, Turn, Visit};

use engine::Engine;
pub use lookup::{Lookup, LookupResult, NestedWalk};
pub(crate) use lookup::{finish, lookup, walk_below};
pub use spans::{Span, Spans};

/// A query and its reply on the way through a chain. Made once, used for many queries one after the other.
pub struct Walk {
    pub(crate) query: Query,
    pub(crate) reply: Reply,
    pub(crate) client: Client,
    pub(crate) slots: Vec<Slot>,
    pub(crate) state: WalkState,
}

/// The state of a walk that belongs to no plugin.
pub(crate) struct WalkState {
    direction: Direction,
    /// The current position in the chain.
    pub position: usize,
    /// The first position of this walk: plugins before it belong to an outer walk and are not called.
    floor: usize,
    /// The position of the plugin that ended the way down; plugins after it never saw the query.
    source: usize,
    pub outcome: Outcome,
    pub error: Option<Cow<'static, str>>,
    /// Replaced questions, with the position of the plugin that replaced each.
    pub undo: Vec<(usize, Question)>,
    /// On the way up: the question below the visited plugin, if it replaced it; at most one. A Vec and not an Option,
    /// since few walks have one and many walks wait.
    pub question_below: Vec<Question>,
    pub answered_by: Option<&'static str>,
    /// The position of the same plugin.
    pub answered_at: Option<usize>,
    pub deadline: Option<Instant>,
    /// Octets that a plugin needs in the reply's packet, for its signature.
    pub reserved: u16,
    /// Size of the messages of a stream before the current one, as logs and metrics report sizes.
    pub streamed: u64,
    /// Start of the measurement of [`Visit::elapsed`].
    pub began: Option<Instant>,
    /// When the clock was read last; None after a wait.
    pub time: Option<Instant>,
    /// End of the same measurement.
    pub ended: Option<Instant>,
    /// The block's zone that the query's name is in.
    pub zone: ZoneNumber,
    pub depth: u8,
    /// The plugins whose nested look-ups this walk is part of, outermost first.
    pub lookup_plugins: Vec<&'static str>,
    pub purpose: Purpose,
    /// The reasons of plugins, if they are wanted.
    pub notes: Option<Vec<Note>>,
    /// The TLVs of the PROXY protocol header.
    pub proxy_tlvs: Vec<u8>,
    /// The spans of a traced query; the plugin that traces sets and takes them.
    pub spans: Option<Box<Spans>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Down,
    Up,
}

/// How far a walk got.
pub(crate) enum Progress {
    /// To the end; the outcome is in the walk.
    Done,
    /// A plugin waits for a task.
    Waiting(Pending),
    /// The reply is a series of messages.
    Streaming(Box<dyn Messages>),
}

/// The task a walk waits for.
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
            client: Client::unspecified(),
            slots: Vec::new(),
            state: WalkState {
                direction: Direction::Down,
                position: 0,
                floor: 0,
                source: 0,
                outcome: Outcome::Failure,
                error: None,
                undo: Vec::new(),
                question_below: Vec::new(),
                answered_by: None,
                answered_at: None,
                deadline: None,
                reserved: 0,
                streamed: 0,
                began: None,
                time: None,
                ended: None,
                zone: None,
                depth: 0,
                lookup_plugins: Vec::new(),
                purpose: Purpose::Serve,
                notes: None,
                proxy_tlvs: Vec::new(),
                spans: None,
            },
        }
    }

    /// Resets the walk for the next query; `time` is the current time, if the clock was just read.
    pub(crate) fn reset(&mut self, client: Client, time: Option<Instant>) {
        self.client = client;
        self.reply.clear();
        let state = &mut self.state;
        state.floor = 0;
        state.outcome = Outcome::Failure;
        state.error = None;
        state.undo.clear();
        state.question_below.clear();
        state.answered_by = None;
        state.answered_at = None;
        state.deadline = None;
        state.reserved = 0;
        state.streamed = 0;
        state.began = None;
        state.time = time;
        state.ended = None;
        state.depth = 0;
    }

    /// Stores the PROXY protocol TLVs of the next query.
    pub(crate) fn set_proxy_tlvs(&mut self, tlvs: &[u8]) {
        self.state.proxy_tlvs.clear();
        self.state.proxy_tlvs.extend_from_slice(tlvs);
    }

    /// Fails the query before it enters a block.
    pub(crate) fn refuse(&mut self, rcode: Rcode, why: &'static str) -> Progress {
        self.reply.begin_error(&self.query, rcode);
        self.state.outcome = Outcome::Failure;
        if let Some(notes) = &mut self.state.notes {
            notes.push(Note::new("server", self.state.depth, format!("{rcode}: {why}")));
        }
        Progress::Done
    }

    /// Moves to the first plugin of a block.
    pub(crate) fn enter(&mut self, block: &Arc<Block>) {
        self.enter_at(block, 0);
    }

    fn enter_at(&mut self, block: &Arc<Block>, position: usize) {
        if self.slots.len() < block.chain().len() {
            self.slots.resize_with(block.chain().len(), Slot::default);
        }
        self.state.position = position;
        self.state.direction = Direction::Down;
    }

    /// Walks as far as possible without waiting.
    pub(crate) fn drive(&mut self, block: &Arc<Block>, service: &Arc<Service>) -> Progress {
        self.engine(block, service).drive()
    }

    /// Applies the result of the pending task and continues the walk.
    pub(crate) fn resume(
        &mut self,
        resumed: TaskResult,
        block: &Arc<Block>,
        service: &Arc<Service>,
    ) -> Progress {
        self.state.time = None;
        self.engine(block, service).resume(resumed)
    }

    fn engine<'a>(&'a mut self, block: &'a Arc<Block>, service: &'a Arc<Service>) -> Engine<'a> {
        Engine {
            visit: Visit {
                query: &mut self.query,
                reply: &mut self.reply,
                client: &self.client,
                slots: &mut self.slots,
                state: &mut self.state,
                block,
                service,
            },
        }
    }

    /// Mask of the positions that saw the query: up to the plugin that ended the way down.
    pub(crate) fn visited_mask(&self) -> u64 {
        mask_before(self.state.source + 1)
    }

    /// The view for `sent` of the plugin at a position.
    pub(crate) fn sent<'w>(&'w mut self, block: &'w Block, position: usize) -> Sent<'w> {
        Sent {
            query: &self.query,
            reply: &self.reply,
            client: &self.client,
            slots: &mut self.slots,
            state: &self.state,
            block,
            position,
        }
    }

    /// The maximum size of the reply before it is signed, in octets.
    pub(crate) fn limit(&self) -> usize {
        let limit = Service::limit(self.client.transport, &self.query);
        limit.saturating_sub(usize::from(self.state.reserved))
    }

    /// Encodes and signs the reply and calls the `sent` hooks with the final packet. False when no reply is sent.
    pub(crate) fn encode(&mut self, block: Option<&Arc<Block>>, out: &mut Vec<u8>) -> bool {
        if self.state.outcome == Outcome::Drop {
            return false;
        }
        self.reply.encode(&self.query, self.limit(), out);
        if let Some(block) = block
            && block.wants_sent | block.wants_sign != 0
        {
            self.sign(block, out);
            self.call_sent_hooks(block, u64::MAX, out);
        }
        true
    }

    /// Lets plugins change the final packet, the outermost last. Nothing changes it afterwards.
    fn sign(&mut self, block: &Block, out: &mut Vec<u8>) {
        self.for_each_visited(block, block.wants_sign, |plugin, sent| plugin.sign(sent, out));
    }

    /// Calls the `sent` hooks of the wanted plugins.
    fn call_sent_hooks(&mut self, block: &Block, wanted: u64, out: &[u8]) {
        self.for_each_visited(block, block.wants_sent & wanted, |plugin, sent| plugin.sent(sent, out));
    }

    /// Calls a hook from the innermost plugin outwards, as the reply went.
    fn for_each_visited(
        &mut self,
        block: &Block,
        wanted: u64,
        mut hook: impl FnMut(&dyn Plugin, &mut Sent<'_>),
    ) {
        let mut left = wanted & self.visited_mask();
        while left != 0 {
            let position = 63 - left.leading_zeros() as usize;
            left &= !(1 << position);
            hook(block.chain()[position].as_ref(), &mut self.sent(block, position));
        }
    }

    /// Clears all slots. What a slot keeps for other queries, such as a channel they wait on, must not outlive its query;
    /// and metadata is read before the next query reaches the plugin.
    pub(crate) fn clear_slots(&mut self) {
        self.slots.fill_with(Slot::default);
    }

    /// Restores a consistent state after a panic and fails the query.
    pub(crate) fn recover(&mut self) {
        self.clear_slots();
        if let Some((_, first)) = self.state.undo.drain(..).next() {
            self.query.set_question(first);
        }
        self.reply.begin_error(&self.query, Rcode::SERVFAIL);
        self.state.outcome = Outcome::Failure;
    }
}

/// Mask of the positions before `position`.
fn mask_before(position: usize) -> u64 {
    1u64.checked_shl(position as u32).unwrap_or(0).wrapping_sub(1)
}

/// The result of a pending task.
pub(crate) enum TaskResult {
    Down(crate::Resume<Step>),
    Up(crate::Resume<Turn>),
    /// The task was aborted, with the reason.
    Aborted(Direction, &'static str),
}

/// Why a query with a deadline fails.
const DEADLINE_EXCEEDED: &str = "query deadline exceeded";

impl Pending {
    pub(crate) fn direction(&self) -> Direction {
        match self {
            Pending::Down(_) => Direction::Down,
            Pending::Up(_) => Direction::Up,
        }
    }

    /// Waits for the task until the deadline.
    pub(crate) async fn wait(self, deadline: Option<Instant>) -> TaskResult {
        let direction = self.direction();
        let work = async {
            match self {
                Pending::Down(task) => TaskResult::Down(task.await),
                Pending::Up(task) => TaskResult::Up(task.await),
            }
        };
        match deadline {
            None => work.await,
            Some(end) => tokio::time::timeout_at(end.into(), work)
                .await
                .unwrap_or(TaskResult::Aborted(direction, DEADLINE_EXCEEDED)),
        }
    }
}
