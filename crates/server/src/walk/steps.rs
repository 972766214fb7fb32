//! The steps of a walk: down past the plugins that look at the query, up past those that look at the reply.

use wire::Rcode;

use super::{Direction, Driven, Pending, Resumed, up_to};
use crate::explain::Note;
use crate::{Outcome, Slot, Step, Turn, Visit};

impl Visit<'_> {
    /// Goes as far as possible without waiting.
    pub(super) fn drive(&mut self) -> Driven {
        if self.block.traced { self.go::<true>() } else { self.go::<false>() }
    }

    fn go<const TRACED: bool>(&mut self) -> Driven {
        loop {
            let stopped = match self.trail.direction {
                Direction::Down => self.down::<TRACED>(),
                Direction::Up => self.up::<TRACED>(),
            };
            if let Some(driven) = stopped {
                return driven;
            }
        }
    }

    /// Past the plugins that let the query pass, until one does something with it.
    #[inline(always)]
    fn down<const TRACED: bool>(&mut self) -> Option<Driven> {
        let mut ahead = self.block.wants_query & !up_to(self.trail.place);
        while ahead != 0 {
            let place = ahead.trailing_zeros() as usize;
            ahead &= ahead - 1;
            if TRACED {
                self.note_down(place + 1);
            }
            self.trail.place = place;
            *self.slot() = Slot::default();
            let plugin = &self.block.chain()[place];
            match plugin.query(self) {
                Step::Next => {}
                step => return self.took(step, plugin.name()),
            }
            self.trail.place = place + 1;
        }
        let end = self.block.chain().len();
        if TRACED {
            self.note_down(end);
        }
        self.trail.place = end;
        let last = self.block.chain().last().map_or("server", |plugin| plugin.name());
        let error = format!("plugin/{last}: no next plugin found");
        self.took(Step::error(Rcode::SERVFAIL, error), last)
    }

    /// Past the plugins that look at the reply, until one does not let it pass or all did.
    #[inline(always)]
    pub(super) fn up<const TRACED: bool>(&mut self) -> Option<Driven> {
        let mut outcome = self.trail.outcome;
        let mut left = self.ahead_up(self.trail.place);
        while left != 0 {
            let place = 63 - left.leading_zeros() as usize;
            left &= !(1 << place);
            if TRACED {
                self.note_up(place + 1);
            }
            self.restore(place);
            self.trail.place = place;
            match self.block.chain()[place].reply(self) {
                Turn::Up => {}
                turn => return self.turned(turn),
            }
            // Another kind of reply interests others.
            if outcome != self.trail.outcome {
                outcome = self.trail.outcome;
                left = self.ahead_up(place);
            }
        }
        if TRACED {
            self.note_up(0);
        }
        self.restore(0);
        Some(Driven::Done)
    }

    /// The plugins before this place that look at such a reply.
    fn ahead_up(&self, place: usize) -> u64 {
        let wanted = match self.trail.outcome {
            Outcome::Records => self.block.wants_records,
            Outcome::Failure => self.block.wants_failure,
            Outcome::Drop => self.block.wants_drop,
        };
        wanted & up_to(place) & !up_to(self.trail.floor)
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
                self.answered(plugin);
            }
            Step::Fail { rcode, error } => {
                self.reply.begin_error(self.query, rcode);
                self.trail.outcome = Outcome::Failure;
                self.trail.error = error;
            }
            Step::Drop => {
                self.trail.outcome = Outcome::Drop;
                self.answered(plugin);
            }
            Step::Wait(task) => return Some(Driven::Waiting(Pending::Down(task))),
            Step::Stream(messages) => {
                self.trail.outcome = Outcome::Records;
                self.answered(plugin);
                return Some(Driven::Streaming(messages));
            }
        }
        self.explain_outcome(plugin);
        self.trail.direction = Direction::Up;
        None
    }

    fn answered(&mut self, plugin: &'static str) {
        self.trail.answered_by = Some(plugin);
        self.trail.answered_at = Some(self.trail.place);
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
        notes.push(Note::new(plugin, self.trail.depth, text));
    }

    /// Goes on from what a plugin did with the reply.
    fn turned(&mut self, turn: Turn) -> Option<Driven> {
        match turn {
            Turn::Up => {}
            Turn::Again => {
                self.trail.error = None;
                self.trail.answered_by = None;
                self.trail.answered_at = None;
                self.trail.place += 1;
                self.trail.direction = Direction::Down;
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
        self.trail.asked.clear();
        while let Some((changed_at, _)) = self.trail.undo.last() {
            if *changed_at < place {
                break;
            }
            let at_this_plugin = *changed_at == place;
            self.reply.pin_owners(self.query.question.name());
            if let Some((_, before)) = self.trail.undo.pop() {
                let asked = self.query.set_question(before);
                if at_this_plugin && self.trail.asked.is_empty() {
                    self.trail.asked.push(asked);
                }
            }
        }
    }

    /// Takes a finished task in and drives on.
    pub(super) fn resume(&mut self, resumed: Resumed) -> Driven {
        let stopped = match resumed {
            Resumed::Down(then) => {
                let step = then(self);
                let plugin = self.block.chain()[self.trail.place].name();
                self.took(step, plugin)
            }
            Resumed::Up(then) => {
                let turn = then(self);
                self.turned(turn)
            }
            Resumed::GivenUp(Direction::Down, error) => {
                let plugin = self.block.chain()[self.trail.place].name();
                self.took(Step::error(Rcode::SERVFAIL, error), plugin)
            }
            Resumed::GivenUp(Direction::Up, _) => None,
        };
        stopped.unwrap_or_else(|| self.drive())
    }
}
