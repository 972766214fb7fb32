//! A plugin's view of a walk.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wire::{Name, Query, Question, Reply, Rtype};

use crate::walk::explain::Note;
use crate::walk::{Lookup, LookupResult, NestedWalk, Spans, WalkState};
use crate::{Block, Client, Purpose, Service};

/// The state of a query's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A reply with its records (perhaps none).
    Records,
    /// No reply; the code is in `reply.rcode`, nothing is written yet.
    Failure,
    /// No reply is sent.
    Drop,
}

/// One plugin's state of one query, kept between the way down and the way up.
#[derive(Default)]
pub struct Slot {
    /// Zero when the query reaches the plugin.
    pub words: [u64; 4],
    /// For larger state; costs an allocation.
    pub boxed: Option<Box<dyn Any + Send>>,
}

/// A plugin's view of the walk: the query, the reply, its own slot, and access to the rest of the server.
pub struct Visit<'w> {
    pub query: &'w mut Query,
    pub reply: &'w mut Reply,
    pub client: &'w Client,
    /// The slots of all plugins of the block.
    pub(crate) slots: &'w mut [Slot],
    pub(crate) state: &'w mut WalkState,
    pub(crate) block: &'w Arc<Block>,
    pub(crate) service: &'w Arc<Service>,
}

impl Visit<'_> {
    /// This plugin's state of the query.
    pub fn slot(&mut self) -> &mut Slot {
        // Entering the block makes one for every plugin.
        &mut self.slots[self.state.position]
    }

    /// Starts an empty NOERROR reply to the question as it is now.
    pub fn begin(&mut self) -> &mut Reply {
        self.reply.begin(self.query);
        self.reply
    }

    /// The outcome of the plugins below; meaningful on the way up.
    pub fn outcome(&self) -> Outcome {
        self.state.outcome
    }

    /// Replaces the outcome, such as a failure by an answer.
    pub fn set_outcome(&mut self, outcome: Outcome) {
        if outcome == Outcome::Records && self.state.outcome != Outcome::Records {
            self.state.answered_by = Some(self.block.chain()[self.state.position].name());
            self.state.answered_at = Some(self.state.position);
        }
        self.state.outcome = outcome;
    }

    /// The reason of a failure, or an error that did not prevent a reply.
    pub fn error(&self) -> Option<&str> {
        self.state.error.as_deref()
    }

    pub fn set_error(&mut self, error: impl Into<Cow<'static, str>>) {
        self.state.error = Some(error.into());
    }

    pub fn clear_error(&mut self) {
        self.state.error = None;
    }

    /// Replaces the question for the plugins below. On the way up the walk restores the old question before it calls
    /// this plugin's `reply`; [`Visit::asked`] then returns the replacement.
    pub fn ask(&mut self, question: Question) {
        let before = self.query.set_question(question);
        self.state.undo.push((self.state.position, before));
    }

    /// On the way up: the question this plugin set for the plugins below, if it replaced it.
    pub fn asked(&self) -> Option<&Question> {
        self.state.question_below.first()
    }

    /// The name of the plugin that made the reply, for logs and metrics.
    pub fn answered_by(&self) -> Option<&'static str> {
        self.state.answered_by
    }

    /// The position of that plugin in the chain.
    pub fn answered_at(&self) -> Option<usize> {
        self.state.answered_at
    }

    /// Keeps room for a signature of at most this size: it is subtracted from the client's limit before the reply is cut.
    pub fn reserve(&mut self, octets: u16) {
        self.state.reserved = self.state.reserved.max(octets);
    }

    /// The size of the reply as logs and metrics report it: uncompressed, and for a stream of all its messages.
    pub fn reply_len(&self) -> u64 {
        self.state.streamed + self.reply.plain_len(&self.query.question) as u64
    }

    /// Sets a deadline for this query's waits; an earlier one stays.
    pub fn limit_time(&mut self, limit: Duration) {
        let end = Instant::now() + limit;
        self.state.deadline = Some(self.state.deadline.map_or(end, |before| before.min(end)));
    }

    /// The time on the way down. The clock is read at the first call and again after a wait: the steps between are
    /// too short to matter.
    pub fn time(&mut self) -> Instant {
        *self.state.time.get_or_insert_with(Instant::now)
    }

    /// Starts the measurement that [`Visit::elapsed`] returns.
    pub fn start_clock(&mut self) {
        let now = self.time();
        self.state.began.get_or_insert(now);
    }

    pub fn elapsed(&mut self) -> Duration {
        let Some(began) = self.state.began else { return Duration::ZERO };
        let now = Instant::now();
        self.state.ended = Some(now);
        now.saturating_duration_since(began)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.state.deadline
    }

    /// The zone of the server block that serves the query, in lower case.
    pub fn zone(&self) -> Name<'_> {
        self.service.zone(self.state.zone)
    }

    /// The listener, as metrics label it: `dns://:53`.
    pub fn server(&self) -> &str {
        &self.service.label
    }

    /// Whether this listener's backlog of UDP replies is full, so that one more reply would evict another.
    pub fn is_backlog_full(&self) -> bool {
        self.service.backlog.as_ref().is_some_and(|backlog| backlog.is_full())
    }

    /// The nesting depth of look-ups; 0 for a client's own query.
    pub fn depth(&self) -> u8 {
        self.state.depth
    }

    /// Whether this walk belongs to a look-up made by a plugin of this name, at any depth.
    pub fn is_lookup_by(&self, plugin: &str) -> bool {
        self.state.lookup_plugins.contains(&plugin)
    }

    /// Records the reason for a decision if the query is explained. The text is only made then.
    pub fn note(&mut self, text: impl FnOnce(&Query) -> String) {
        self.add_note(text, |_| ());
    }

    /// Records a step of the decision noted last, shown below it.
    pub fn note_step(&mut self, text: impl FnOnce(&Query) -> String) {
        self.add_note(text, |note| note.depth = note.depth.saturating_add(1));
    }

    /// The same for a plugin whose data may be incomplete. A reason `is_false` if it claims that something does not exist
    /// that may only not be loaded; then only the lines about the incomplete data are noted.
    pub fn note_unless_unknown(
        &mut self,
        unknown: Vec<String>,
        is_false: bool,
        text: impl FnOnce(&Query) -> String,
    ) {
        if !is_false {
            self.note(text);
        }
        for line in unknown {
            self.add_note(|_| line, |note| note.incomplete = true);
        }
    }

    /// Whether reasons are collected.
    pub fn is_explained(&self) -> bool {
        self.state.notes.is_some()
    }

    /// Whether a client waits for the reply. If not, the query is only explained: a plugin counts, logs, records and
    /// caches nothing, and changes no state that later queries see.
    pub fn is_served(&self) -> bool {
        self.state.purpose == Purpose::Serve
    }

    fn add_note(&mut self, text: impl FnOnce(&Query) -> String, change: impl FnOnce(&mut Note)) {
        if let Some(notes) = &mut self.state.notes {
            let plugin = self.block.chain()[self.state.position].name();
            let mut note = Note::new(plugin, self.state.depth, text(self.query));
            change(&mut note);
            notes.push(note);
        }
    }

    /// A metadata value, if the block collects metadata for this name and a plugin provides the label.
    pub fn metadata(&self, label: &str) -> Option<String> {
        let view = MetadataView::new(self.query, self.reply, self.client, self.state, self.slots);
        self.block.metadata(label, view)
    }

    /// Starts or stops recording spans of this query. Only in a block with a plugin that traces.
    pub fn note_spans(&mut self, wanted: bool) {
        self.state.spans = wanted.then(|| Box::new(Spans::begin()));
    }

    /// The spans of a traced query so far.
    pub fn spans(&mut self) -> Option<&mut Spans> {
        self.state.spans.as_deref_mut()
    }

    pub fn take_spans(&mut self) -> Option<Box<Spans>> {
        self.state.spans.take()
    }

    /// Looks up another name through the whole server, from block choice on. Runs on this thread until it must wait.
    pub fn lookup(&mut self, name: Name<'_>, qtype: Rtype) -> Lookup {
        crate::walk::lookup(self, name, qtype)
    }

    /// Starts a walk of the same question through the plugins below this one, without a client. Dropping the
    /// result cancels it; `tokio::spawn` lets it run independently.
    pub fn walk_below(&mut self) -> NestedWalk {
        crate::walk::walk_below(self)
    }

    /// Copies the result of a look-up or of a walk below into this walk's reply.
    pub fn adopt(&mut self, found: &LookupResult) {
        self.reply.copy_from(found.reply());
        self.state.outcome = found.outcome();
        self.state.error = found.error().map(|text| Cow::Owned(text.to_owned()));
    }
}

/// A metadata provider's view of a query.
pub struct MetadataView<'w> {
    pub query: &'w Query,
    pub reply: &'w Reply,
    pub client: &'w Client,
    state: &'w WalkState,
    /// The slots of all plugins; empty before a block is entered.
    slots: &'w [Slot],
    /// The position of the provider that is called.
    pub(crate) provider: usize,
}

impl<'w> MetadataView<'w> {
    pub(crate) fn new(
        query: &'w Query,
        reply: &'w Reply,
        client: &'w Client,
        state: &'w WalkState,
        slots: &'w [Slot],
    ) -> MetadataView<'w> {
        MetadataView { query, reply, client, state, slots, provider: 0 }
    }

    pub fn outcome(&self) -> Outcome {
        self.state.outcome
    }

    /// The TLVs of the PROXY protocol header, as received.
    pub fn proxy_tlvs(&self) -> &[u8] {
        &self.state.proxy_tlvs
    }

    /// The provider's own slot of this query.
    pub fn slot(&self) -> Option<&Slot> {
        self.slots.get(self.provider)
    }
}

/// A plugin's view in `sent`, when the final bytes are sent.
pub struct Sent<'w> {
    pub query: &'w Query,
    pub reply: &'w Reply,
    pub client: &'w Client,
    pub(crate) slots: &'w mut [Slot],
    pub(crate) state: &'w WalkState,
    pub(crate) block: &'w Block,
    pub(crate) position: usize,
}

impl Sent<'_> {
    /// This plugin's state of the query.
    pub fn slot(&mut self) -> &mut Slot {
        &mut self.slots[self.position]
    }

    pub fn outcome(&self) -> Outcome {
        self.state.outcome
    }

    /// As [`Visit::is_served`].
    pub fn is_served(&self) -> bool {
        self.state.purpose == Purpose::Serve
    }

    pub fn metadata(&self, label: &str) -> Option<String> {
        let view = MetadataView::new(self.query, self.reply, self.client, self.state, self.slots);
        self.block.metadata(label, view)
    }
}
