//! Changes a cluster according to a plan, retrying while its API fails.

use std::time::Duration;

use testkit::cluster::Api;
use testkit::random::Random;

use super::context::Context;
use super::plan::Plan;
use super::subject::State;
use super::write::{self, Attempt};

/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(200);

pub struct Changer<'a> {
    pub context: &'a Context,
    pub plan: Plan,
    pub api: Api,
    pub random: Random,
}

impl Changer<'_> {
    /// Brings everything into its first state. The API must be healthy.
    pub fn begin(api: &Api, plan: &Plan) -> testkit::Result<()> {
        let retry = |attempt: &mut dyn FnMut() -> bool| match (0..100).any(|_| attempt() || pause()) {
            true => Ok(()),
            false => Err(testkit::Error::new("the cluster rejects its first objects")),
        };
        retry(&mut || write::create_namespace(api, &plan.namespace))?;
        for (subject, state) in &plan.subjects {
            write::prepare(api, subject)?;
            if *state != State::Absent {
                retry(&mut || write::attempt(api, subject, state) == Attempt::Done)?;
            }
        }
        Ok(())
    }

    /// Makes two or three changes a second until a time; changes that were delayed are made at the end.
    pub fn run(&mut self, until: Duration) {
        let mut at = self.context.now();
        loop {
            at += Duration::from_millis(self.random.between(100, 700) as u64);
            if at > until || !self.context.sleep_until(at) {
                return;
            }
            self.change();
        }
    }

    /// Makes the next change, retrying until it succeeds or the context ends.
    pub fn change(&mut self) {
        let context = self.context;
        let (subject, mut state) = self.plan.next(|n| context.progress().histories[n].state().clone());
        context.progress().histories[subject].begin(state.clone());
        while !context.has_ended() {
            match write::attempt(&self.api, &self.plan.subjects[subject].0, &state) {
                Attempt::Done => {
                    let mut progress = context.progress();
                    progress.histories[subject].written(context.now());
                    progress.changes += 1;
                    return;
                }
                Attempt::Retry => context.sleep_until(context.now() + PAUSE),
                Attempt::AddressTaken => {
                    state = self.plan.state(self.plan.subjects[subject].0.kind);
                    context.progress().histories[subject].begin(state.clone());
                    true
                }
            };
        }
    }
}

/// False, for use in `any`.
fn pause() -> bool {
    std::thread::sleep(PAUSE);
    false
}
