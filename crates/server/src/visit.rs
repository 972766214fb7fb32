//! What a plugin sees of a walk while it is visited.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wire::{Name, Query, Question, Reply, Rtype};

use crate::explain::Note;
use crate::walk::{Below, Found, Lookup, Spans, Trail};
use crate::{Block, Client, Service};

/// What became of a query so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A reply with its records (perhaps none) is in hand.
    Records,
    /// No reply; the code is in `reply.rcode`, nothing is written yet.
    Failure,
    /// The client is to get nothing.
    Drop,
}

/// What one plugin remembers of one query between the way down and the way up.
#[derive(Default)]
pub struct Slot {
    /// Plain memory, zero when the query comes down.
    pub words: [u64; 4],
    /// For the few that need more; costs an allocation.
    pub boxed: Option<Box<dyn Any + Send>>,
}

/// A plugin's view of the walk: the query, the reply, its own memory, and the ways to the rest of the house.
pub struct Visit<'w> {
    pub query: &'w mut Query,
    pub reply: &'w mut Reply,
    pub client: &'w Client,
    /// The memory of all plugins of the block.
    pub(crate) slots: &'w mut [Slot],
    pub(crate) trail: &'w mut Trail,
    pub(crate) block: &'w Arc<Block>,
    pub(crate) service: &'w Arc<Service>,
}

impl Visit<'_> {
    /// What this plugin remembers of the query.
    pub fn slot(&mut self) -> &mut Slot {
        // There is one for every plugin, made on entering the block.
        &mut self.slots[self.trail.place]
    }

    /// Starts an empty NOERROR reply to the question as it is now.
    pub fn begin(&mut self) -> &mut Reply {
        self.reply.begin(self.query);
        self.reply
    }

    /// What came of the query below; meaningful on the way up.
    pub fn outcome(&self) -> Outcome {
        self.trail.outcome
    }

    /// Turns a failure or a drop into something else, or the other way round.
    pub fn set_outcome(&mut self, outcome: Outcome) {
        if outcome == Outcome::Records && self.trail.outcome != Outcome::Records {
            self.trail.answered_by = Some(self.block.chain()[self.trail.place].name());
            self.trail.answered_at = Some(self.trail.place);
        }
        self.trail.outcome = outcome;
    }

    /// The reason of a failure, or a complaint about a reply that was made all the same.
    pub fn error(&self) -> Option<&str> {
        self.trail.error.as_deref()
    }

    pub fn set_error(&mut self, error: impl Into<Cow<'static, str>>) {
        self.trail.error = Some(error.into());
    }

    pub fn clear_error(&mut self) {
        self.trail.error = None;
    }

    /// Asks the plugins below something else. On the way up the old question is put back before this
    /// plugin's `reply` is called; [`Visit::asked`] then tells what was asked instead.
    pub fn ask(&mut self, question: Question) {
        let before = self.query.set_question(question);
        self.trail.undo.push((self.trail.place, before));
    }

    /// On the way up: the question this plugin had asked below, if it changed it.
    pub fn asked(&self) -> Option<&Question> {
        self.trail.asked.first()
    }

    /// The name of the plugin that made the reply, for logs and metrics.
    pub fn answered_by(&self) -> Option<&'static str> {
        self.trail.answered_by
    }

    /// The place of that plugin in the chain.
    pub fn answered_at(&self) -> Option<usize> {
        self.trail.answered_at
    }

    /// No waiting beyond this from now on.
    pub fn limit_time(&mut self, limit: Duration) {
        let end = Instant::now() + limit;
        self.trail.deadline = Some(self.trail.deadline.map_or(end, |before| before.min(end)));
    }

    /// The time on the way down. The clock is read for the first who asks, and again after a wait: the steps between
    /// are shorter than what anybody measures with it.
    pub fn time(&mut self) -> Instant {
        *self.trail.time.get_or_insert_with(Instant::now)
    }

    /// From now on [`Visit::elapsed`] tells how long the query takes.
    pub fn start_clock(&mut self) {
        let now = self.time();
        self.trail.began.get_or_insert(now);
    }

    pub fn elapsed(&mut self) -> Duration {
        let Some(began) = self.trail.began else { return Duration::ZERO };
        let now = Instant::now();
        self.trail.ended = Some(now);
        now.saturating_duration_since(began)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.trail.deadline
    }

    /// The zone of the server block the query was sent to, in lower case.
    pub fn zone(&self) -> Name<'_> {
        self.service.zone(self.trail.zone)
    }

    pub fn block(&self) -> &Block {
        self.block
    }

    /// The listener, as metrics label it: `dns://:53`.
    pub fn server(&self) -> &str {
        &self.service.label
    }

    /// Whether replies over UDP pile up on this listener, so that one more would push another out.
    pub fn replies_pile_up(&self) -> bool {
        self.service.backlog.as_ref().is_some_and(|backlog| backlog.is_full())
    }

    /// How deep this walk sits in look-ups made by other walks; 0 for a client's own.
    pub fn depth(&self) -> u8 {
        self.trail.depth
    }

    /// Whether this walk is part of a look-up that a plugin of this name made, however far above.
    pub fn is_asked_by(&self, plugin: &str) -> bool {
        self.trail.askers.contains(&plugin)
    }

    /// Says why something was decided, if anybody wants to know. The text is only made then.
    pub fn note(&mut self, text: impl FnOnce(&Query) -> String) {
        self.add_note(text, |_| ());
    }

    /// A step of the decision noted last, shown below it.
    pub fn note_step(&mut self, text: impl FnOnce(&Query) -> String) {
        self.add_note(text, |note| note.depth = note.depth.saturating_add(1));
    }

    /// The same for a plugin that may not know all of its source. A reason `is_false` if it says that something is
    /// missing which is only not known; then the lines about what is not known stand alone.
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

    /// Whether anybody wants to know why something is decided.
    pub fn is_explained(&self) -> bool {
        self.trail.notes.is_some()
    }

    fn add_note(&mut self, text: impl FnOnce(&Query) -> String, change: impl FnOnce(&mut Note)) {
        if let Some(notes) = &mut self.trail.notes {
            let plugin = self.block.chain()[self.trail.place].name();
            let mut note = Note::new(plugin, self.trail.depth, text(self.query));
            change(&mut note);
            notes.push(note);
        }
    }

    /// A metadata value, if the block collects metadata for this name and somebody knows the label.
    pub fn metadata(&self, label: &str) -> Option<String> {
        let view = MetadataView::new(self.query, self.reply, self.client, self.trail, self.slots);
        self.block.metadata(label, view)
    }

    /// Has the further steps of this query noted, or not. Only in a block with a plugin that traces.
    pub fn note_spans(&mut self, wanted: bool) {
        self.trail.spans = wanted.then(|| Box::new(Spans::begin()));
    }

    /// The steps of a traced query so far.
    pub fn spans(&mut self) -> Option<&mut Spans> {
        self.trail.spans.as_deref_mut()
    }

    pub fn take_spans(&mut self) -> Option<Box<Spans>> {
        self.trail.spans.take()
    }

    /// Asks the whole server for another name: block choice, chain and all. Stays here until it must wait.
    pub fn lookup(&mut self, name: Name<'_>, qtype: Rtype) -> Lookup {
        crate::walk::lookup(self, name, qtype)
    }

    /// Starts a walk of the same question through the plugins below this one, without a client. Dropping the
    /// result gives it up; `tokio::spawn`ing it lets it run on its own.
    pub fn below(&mut self) -> Below {
        crate::walk::below(self)
    }

    /// Takes over what a look-up or a walk below found as this walk's own reply.
    pub fn adopt(&mut self, found: &Found) {
        self.reply.copy_from(found.reply());
        self.trail.outcome = found.outcome();
        self.trail.error = found.error().map(|text| Cow::Owned(text.to_owned()));
    }
}

/// What a metadata provider sees.
pub struct MetadataView<'w> {
    pub query: &'w Query,
    pub reply: &'w Reply,
    pub client: &'w Client,
    trail: &'w Trail,
    /// The memory of all plugins; nothing before a block is entered.
    slots: &'w [Slot],
    /// The place of the provider that is asked.
    pub(crate) slot_of: usize,
}

impl<'w> MetadataView<'w> {
    pub(crate) fn new(
        query: &'w Query,
        reply: &'w Reply,
        client: &'w Client,
        trail: &'w Trail,
        slots: &'w [Slot],
    ) -> MetadataView<'w> {
        MetadataView { query, reply, client, trail, slots, slot_of: 0 }
    }

    pub fn outcome(&self) -> Outcome {
        self.trail.outcome
    }

    /// What a proxy said about the client beside its address: the TLVs of the PROXY protocol as they came.
    pub fn announced(&self) -> &[u8] {
        &self.trail.announced
    }

    /// The provider's own memory of this query.
    pub fn slot(&self) -> Option<&Slot> {
        self.slots.get(self.slot_of)
    }
}

/// What a plugin sees when the final bytes leave.
pub struct Sent<'w> {
    pub query: &'w Query,
    pub reply: &'w Reply,
    pub client: &'w Client,
    pub(crate) slots: &'w mut [Slot],
    pub(crate) trail: &'w Trail,
    pub(crate) block: &'w Block,
    pub(crate) place: usize,
}

impl Sent<'_> {
    /// What this plugin remembers of the query.
    pub fn slot(&mut self) -> &mut Slot {
        &mut self.slots[self.place]
    }

    pub fn outcome(&self) -> Outcome {
        self.trail.outcome
    }

    pub fn metadata(&self, label: &str) -> Option<String> {
        let view = MetadataView::new(self.query, self.reply, self.client, self.trail, self.slots);
        self.block.metadata(label, view)
    }
}
