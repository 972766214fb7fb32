//! Changes a cluster according to a plan, whenever its API lets us.

use std::time::Duration;

use testkit::cluster::Api;
use testkit::random::Random;

use super::plan::Plan;
use super::scene::Scene;
use super::subject::State;
use super::write::{self, Tried};

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);

pub struct Changer<'a> {
    pub scene: &'a Scene,
    pub plan: Plan,
    pub api: Api,
    pub random: Random,
}

impl Changer<'_> {
    /// Everything in its first state. The API must be well.
    pub fn begin(api: &Api, plan: &Plan) -> testkit::Result<()> {
        let again = |what: &mut dyn FnMut() -> bool| match (0..100).any(|_| what() || pause()) {
            true => Ok(()),
            false => Err(testkit::Error::new("the cluster does not take its first objects")),
        };
        again(&mut || write::create_namespace(api, &plan.namespace))?;
        for (subject, state) in &plan.subjects {
            write::prepare(api, subject)?;
            if *state != State::Absent {
                again(&mut || write::attempt(api, subject, state) == Tried::Done)?;
            }
        }
        Ok(())
    }

    /// One change after another, two or three in a second, until a time. What could not be made in time is
    /// made up for at the end.
    pub fn run(&mut self, until: Duration) {
        let mut at = self.scene.now();
        loop {
            at += Duration::from_millis(self.random.between(100, 700) as u64);
            if at > until || !self.scene.sleep_until(at) {
                return;
            }
            self.change();
        }
    }

    /// The next change, brought to its end unless all ends before.
    pub fn change(&mut self) {
        let scene = self.scene;
        let (subject, mut state) = self.plan.next(|n| scene.known().histories[n].state().clone());
        scene.known().histories[subject].begin(state.clone());
        while !scene.has_ended() {
            match write::attempt(&self.api, &self.plan.subjects[subject].0, &state) {
                Tried::Done => {
                    let mut known = scene.known();
                    known.histories[subject].written(scene.now());
                    known.changes += 1;
                    return;
                }
                Tried::Again => scene.sleep_until(scene.now() + PAUSE),
                Tried::AddressTaken => {
                    state = self.plan.state(self.plan.subjects[subject].0.kind);
                    scene.known().histories[subject].begin(state.clone());
                    true
                }
            };
        }
    }
}

/// For `any`: nothing is done by a pause.
fn pause() -> bool {
    std::thread::sleep(PAUSE);
    false
}
