//! The steps of a walk: down through the plugins with a `query` hook, up through those with a hook for the reply.

use wire::Rcode;

use super::{Direction, Pending, Progress, TaskResult, mask_before};
use crate::walk::explain::Note;
use crate::{Outcome, Slot, Step, Turn, Visit};

impl Visit<'_> {
    /// Walks as far as possible without waiting.
    pub(super) fn drive(&mut self) -> Progress {
        if self.block.traced { self.run::<true>() } else { self.run::<false>() }
    }

    fn run<const TRACED: bool>(&mut self) -> Progress {
        loop {
            let stopped = match self.state.direction {
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
        let mut ahead = self.block.wants_query & !mask_before(self.state.position);
        while ahead != 0 {
            let position = ahead.trailing_zeros() as usize;
            ahead &= ahead - 1;
            if TRACED {
                self.open_spans(position + 1);
            }
            self.state.position = position;
            *self.slot() = Slot::default();
            let plugin = &self.block.chain()[position];
            match plugin.query(self) {
                Step::Next => {}
                step => return self.apply_step(step, plugin.name()),
            }
            self.state.position = position + 1;
        }
        let end = self.block.chain().len();
        if TRACED {
            self.open_spans(end);
        }
        self.state.position = end;
        let last = self.block.chain().last().map_or("server", |plugin| plugin.name());
        let error = format!("plugin/{last}: no next plugin found");
        self.apply_step(Step::error(Rcode::SERVFAIL, error), last)
    }

    /// Calls `reply` of one plugin after the other, until one returns anything but `Up` or all were called.
    #[inline(always)]
    fn up<const TRACED: bool>(&mut self) -> Option<Progress> {
        let mut outcome = self.state.outcome;
        let mut left = self.reply_mask(self.state.position);
        while left != 0 {
            let position = 63 - left.leading_zeros() as usize;
            left &= !(1 << position);
            if TRACED {
                self.close_spans(position + 1);
            }
            self.restore_question(position);
            self.state.position = position;
            match self.block.chain()[position].reply(self) {
                Turn::Up => {}
                turn => return self.apply_turn(turn),
            }
            // Another outcome concerns other plugins.
            if outcome != self.state.outcome {
                outcome = self.state.outcome;
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
        let wanted = match self.state.outcome {
            Outcome::Records => self.block.wants_records,
            Outcome::Failure => self.block.wants_failure,
            Outcome::Drop => self.block.wants_drop,
        };
        wanted & mask_before(position) & !mask_before(self.state.floor)
    }

    /// Applies the result of a plugin's `query`.
    fn apply_step(&mut self, step: Step, plugin: &'static str) -> Option<Progress> {
        self.state.source = self.state.position;
        match step {
            Step::Next => {
                self.state.position += 1;
                return None;
            }
            Step::Answer => {
                self.state.outcome = Outcome::Records;
                self.set_answered(plugin);
            }
            Step::Fail { rcode, error } => {
                self.reply.begin_error(self.query, rcode);
                self.state.outcome = Outcome::Failure;
                self.state.error = error;
            }
            Step::Drop => {
                self.state.outcome = Outcome::Drop;
                self.set_answered(plugin);
            }
            Step::Wait(task) => return Some(Progress::Waiting(Pending::Down(task))),
            Step::Stream(messages) => {
                self.state.outcome = Outcome::Records;
                self.set_answered(plugin);
                return Some(Progress::Streaming(messages));
            }
        }
        self.explain_outcome(plugin);
        self.state.direction = Direction::Up;
        None
    }

    fn set_answered(&mut self, plugin: &'static str) {
        self.state.answered_by = Some(plugin);
        self.state.answered_at = Some(self.state.position);
    }

    fn explain_outcome(&mut self, plugin: &'static str) {
        let Some(notes) = &mut self.state.notes else { return };
        let text = match self.state.outcome {
            Outcome::Records => match self.reply.records().len() {
                1 => format!("answered {} with 1 record", self.reply.rcode),
                count => format!("answered {} with {count} records", self.reply.rcode),
            },
            Outcome::Failure => match &self.state.error {
                Some(error) => format!("failed with {}: {error}", self.reply.rcode),
                None => format!("failed with {}", self.reply.rcode),
            },
            Outcome::Drop => "dropped the query".to_owned(),
        };
        notes.push(Note::new(plugin, self.state.depth, text));
    }

    /// Applies the result of a plugin's `reply`.
    fn apply_turn(&mut self, turn: Turn) -> Option<Progress> {
        match turn {
            Turn::Up => {}
            Turn::Again => {
                self.state.error = None;
                self.state.answered_by = None;
                self.state.answered_at = None;
                self.state.position += 1;
                self.state.direction = Direction::Down;
            }
            Turn::Wait(task) => return Some(Progress::Waiting(Pending::Up(task))),
        }
        None
    }

    /// Restores the questions replaced by the plugins from `position` on. Owner names that refer to the replaced
    /// question are pinned to it.
    pub(super) fn restore_question(&mut self, position: usize) {
        if self.state.undo.is_empty() {
            return;
        }
        self.state.question_below.clear();
        while let Some((changed_at, _)) = self.state.undo.last() {
            if *changed_at < position {
                break;
            }
            let at_this_plugin = *changed_at == position;
            self.reply.pin_owners(self.query.question.name());
            if let Some((_, before)) = self.state.undo.pop() {
                let below = self.query.set_question(before);
                if at_this_plugin && self.state.question_below.is_empty() {
                    self.state.question_below.push(below);
                }
            }
        }
    }

    /// Applies the result of the pending task and continues the walk.
    pub(super) fn resume(&mut self, result: TaskResult) -> Progress {
        let stopped = match result {
            TaskResult::Down(then) => {
                let step = then(self);
                let plugin = self.block.chain()[self.state.position].name();
                self.apply_step(step, plugin)
            }
            TaskResult::Up(then) => {
                let turn = then(self);
                self.apply_turn(turn)
            }
            TaskResult::Aborted(Direction::Down, error) => {
                let plugin = self.block.chain()[self.state.position].name();
                self.apply_step(Step::error(Rcode::SERVFAIL, error), plugin)
            }
            TaskResult::Aborted(Direction::Up, _) => None,
        };
        stopped.unwrap_or_else(|| self.drive())
    }
}
