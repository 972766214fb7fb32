//! The engine of a walk: down through the plugins with a `query` hook, up through those with a hook for the reply.

use wire::Rcode;

use super::{Direction, Pending, Progress, TaskResult, mask_before};
use crate::walk::explain::Note;
use crate::{Outcome, Slot, Step, Turn, Visit};

/// Drives a walk. A plugin gets only the [`Visit`].
pub(super) struct Engine<'w> {
    pub visit: Visit<'w>,
}

impl Engine<'_> {
    /// Walks as far as possible without waiting.
    pub(super) fn drive(&mut self) -> Progress {
        if self.visit.block.settings.traced { self.run::<true>() } else { self.run::<false>() }
    }

    fn run<const TRACED: bool>(&mut self) -> Progress {
        loop {
            let stopped = match self.visit.state.direction {
                Direction::Down => self.down::<TRACED>(),
                Direction::Up => self.up::<TRACED>(),
            };
            if let Some(progress) = stopped {
                return progress;
            }
        }
    }

    /// Calls `query` of one plugin after the other, until one returns anything but `Next`.
    #[inline(always)]
    fn down<const TRACED: bool>(&mut self) -> Option<Progress> {
        let mut ahead = self.visit.block.wants_query & !mask_before(self.visit.state.position);
        while ahead != 0 {
            let position = ahead.trailing_zeros() as usize;
            ahead &= ahead - 1;
            if TRACED {
                self.open_spans(position + 1);
            }
            self.visit.state.position = position;
            *self.visit.slot() = Slot::default();
            let plugin = &self.visit.block.chain()[position];
            match plugin.query(&mut self.visit) {
                Step::Next => {}
                step => return self.apply_step(step, plugin.name()),
            }
            self.visit.state.position = position + 1;
        }
        let end = self.visit.block.chain().len();
        if TRACED {
            self.open_spans(end);
        }
        self.visit.state.position = end;
        let last = self.visit.block.chain().last().map_or("server", |plugin| plugin.name());
        let error = format!("plugin/{last}: no next plugin found");
        self.apply_step(Step::error(Rcode::SERVFAIL, error), last)
    }

    /// Calls `reply` of one plugin after the other, until one returns anything but `Up` or all were called.
    #[inline(always)]
    fn up<const TRACED: bool>(&mut self) -> Option<Progress> {
        let mut outcome = self.visit.state.outcome;
        let mut left = self.reply_mask(self.visit.state.position);
        while left != 0 {
            let position = 63 - left.leading_zeros() as usize;
            left &= !(1 << position);
            if TRACED {
                self.close_spans(position + 1);
            }
            self.restore_question(position);
            self.visit.state.position = position;
            match self.visit.block.chain()[position].reply(&mut self.visit) {
                Turn::Up => {}
                turn => return self.apply_turn(turn),
            }
            // Another outcome concerns other plugins.
            if outcome != self.visit.state.outcome {
                outcome = self.visit.state.outcome;
                left = self.reply_mask(position);
            }
        }
        if TRACED {
            self.close_spans(0);
        }
        self.restore_question(0);
        Some(Progress::Done)
    }

    /// Mask of the plugins before this position with a hook for the current outcome.
    pub(super) fn reply_mask(&self, position: usize) -> u64 {
        let wanted = match self.visit.state.outcome {
            Outcome::Records => self.visit.block.wants_records,
            Outcome::Failure => self.visit.block.wants_failure,
            Outcome::Drop => self.visit.block.wants_drop,
        };
        wanted & mask_before(position) & !mask_before(self.visit.state.floor)
    }

    /// Applies the result of a plugin's `query`.
    fn apply_step(&mut self, step: Step, plugin: &'static str) -> Option<Progress> {
        self.visit.state.source = self.visit.state.position;
        match step {
            Step::Next => {
                self.visit.state.position += 1;
                return None;
            }
            Step::Answer => {
                self.visit.state.outcome = Outcome::Records;
                self.set_answered(plugin);
            }
            Step::Fail { rcode, error } => {
                self.visit.reply.begin_error(self.visit.query, rcode);
                self.visit.state.outcome = Outcome::Failure;
                self.visit.state.error = error;
            }
            Step::Drop => {
                self.visit.state.outcome = Outcome::Drop;
                self.set_answered(plugin);
            }
            Step::Wait(task) => return Some(Progress::Waiting(Pending::Down(task))),
            Step::Stream(messages) => {
                self.visit.state.outcome = Outcome::Records;
                self.set_answered(plugin);
                return Some(Progress::Streaming(messages));
            }
        }
        self.explain_outcome(plugin);
        self.visit.state.direction = Direction::Up;
        None
    }

    fn set_answered(&mut self, plugin: &'static str) {
        self.visit.state.answered_by = Some(plugin);
        self.visit.state.answered_at = Some(self.visit.state.position);
    }

    fn explain_outcome(&mut self, plugin: &'static str) {
        let Some(notes) = &mut self.visit.state.notes else { return };
        let text = match self.visit.state.outcome {
            Outcome::Records => match self.visit.reply.records().len() {
                1 => format!("answered {} with 1 record", self.visit.reply.rcode),
                count => format!("answered {} with {count} records", self.visit.reply.rcode),
            },
            Outcome::Failure => match &self.visit.state.error {
                Some(error) => format!("failed with {}: {error}", self.visit.reply.rcode),
                None => format!("failed with {}", self.visit.reply.rcode),
            },
            Outcome::Drop => "dropped the query".to_owned(),
        };
        notes.push(Note::new(plugin, self.visit.state.depth, text));
    }

    /// Applies the result of a plugin's `reply`.
    fn apply_turn(&mut self, turn: Turn) -> Option<Progress> {
        match turn {
            Turn::Up => {}
            Turn::Again => {
                self.visit.state.error = None;
                self.visit.state.answered_by = None;
                self.visit.state.answered_at = None;
                self.visit.state.position += 1;
                self.visit.state.direction = Direction::Down;
            }
            Turn::Wait(task) => return Some(Progress::Waiting(Pending::Up(task))),
        }
        None
    }

    /// Restores the questions replaced by the plugins from `position` on. Owner names that refer to the replaced
    /// question are pinned to it.
    pub(super) fn restore_question(&mut self, position: usize) {
        if self.visit.state.undo.is_empty() {
            return;
        }
        self.visit.state.question_below.clear();
        while let Some((changed_at, _)) = self.visit.state.undo.last() {
            if *changed_at < position {
                break;
            }
            let at_this_plugin = *changed_at == position;
            self.visit.reply.pin_owners(self.visit.query.question.name());
            if let Some((_, before)) = self.visit.state.undo.pop() {
                let below = self.visit.query.set_question(before);
                if at_this_plugin && self.visit.state.question_below.is_empty() {
                    self.visit.state.question_below.push(below);
                }
            }
        }
    }

    /// Applies the result of the pending task and continues the walk.
    pub(super) fn resume(&mut self, result: TaskResult) -> Progress {
        let stopped = match result {
            TaskResult::Down(then) => {
                let step = then(&mut self.visit);
                let plugin = self.visit.block.chain()[self.visit.state.position].name();
                self.apply_step(step, plugin)
            }
            TaskResult::Up(then) => {
                let turn = then(&mut self.visit);
                self.apply_turn(turn)
            }
            TaskResult::Aborted(Direction::Down, error) => {
                let plugin = self.visit.block.chain()[self.visit.state.position].name();
                self.apply_step(Step::error(Rcode::SERVFAIL, error), plugin)
            }
            TaskResult::Aborted(Direction::Up, _) => None,
        };
        stopped.unwrap_or_else(|| self.drive())
    }
}
