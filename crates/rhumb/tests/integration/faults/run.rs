//! Runs one schedule: changes, faults and questions at the same time, then the recovery.

use std::fmt;
use std::time::Duration;

use testkit::error::{Error, Result};
use testkit::network;
use testkit::random::Random;

use super::action::{self, Action};
use super::ask::ask_on;
use super::change::Changer;
use super::history::SOON;
use super::lane::{Lane, Rhumb};
use super::plan::Plan;
use super::scene::{Ending, Scene};
use super::schedule::{Fault, Schedule};
use super::write;

/// How long after the last fault everything must be as it should be.
const RECOVERY: Duration = Duration::from_secs(60);

/// How many changes are made when all is well again.
const LAST_CHANGES: usize = 4;

/// How long the API server's refusal of a token is waited for.
const REFUSAL: Duration = Duration::from_secs(60);

/// What came of a schedule.
pub struct Outcome {
    pub schedule: Schedule,
    pub asked: usize,
    pub changes: usize,
    /// From the end of the last fault until every name was right.
    pub recovery: Option<Duration>,
    /// How long the last changes took to show, when all was well.
    pub calm: Option<Duration>,
    pub requests: String,
    /// What should not have been, and what Rhumb logged then.
    pub failure: Option<String>,
}

pub fn run(lane: &mut Lane, schedule: &Schedule, round: u8) -> Outcome {
    let mut outcome = Outcome {
        schedule: schedule.clone(),
        asked: 0,
        changes: 0,
        recovery: None,
        calm: None,
        requests: String::new(),
        failure: None,
    };
    let played = play(lane, schedule, round, &mut outcome);
    if outcome.calm.is_none() {
        lane.heal().unwrap_or_else(|error| panic!("{error}"));
    }
    if let Err(error) = played {
        outcome.failure = Some(format!("{error}\n{}", outcome.failure.take().unwrap_or_default()));
    }
    outcome
}

fn play(lane: &mut Lane, schedule: &Schedule, round: u8, outcome: &mut Outcome) -> Result<()> {
    lane.wait_until_well()?;
    let plan = Plan::new(schedule, round);
    let api = lane.cluster().api().patient(write::PATIENCE);
    Changer::begin(&api, &plan)?;
    let rhumb = lane.start_rhumb(schedule)?;
    let lists = rhumb.lists(lane);
    if lists == 0 {
        return Err(Error::new("Rhumb is ready, and has listed nothing"));
    }
    let scene = Scene::new(&plan);
    let mut changer = Changer { scene: &scene, plan, api, random: Random::new(schedule.seed) };
    let played = std::thread::scope(|scope| {
        let _ending = Ending(&scene);
        let (pod, server, asked) = (lane.cable.pod.path(), rhumb.server.addr(), &scene);
        scope.spawn(move || {
            network::enter(&pod).unwrap_or_else(|error| panic!("{error}"));
            ask_on(asked, server);
        });
        let changing = scope.spawn(|| {
            changer.run(schedule.end());
            changer
        });
        break_things(lane, schedule, &rhumb, &scene)?;
        let over = scene.now();
        while !changing.is_finished() {
            if scene.now() > over + RECOVERY {
                return Err(Error::new("the cluster is well, but does not take a change"));
            }
            scene.sleep_until(scene.now() + Duration::from_millis(20));
        }
        let mut changer = changing.join().map_err(|_| Error::new("the changes panicked"))?;
        outcome.recovery = Some(recover(&scene, over, over + RECOVERY)?);
        await_watches(lane, &rhumb, &scene, over + RECOVERY)?;
        scene.known().calm = Some(scene.now());
        let begun = scene.now();
        (0..LAST_CHANGES).for_each(|_| changer.change());
        outcome.calm = Some(recover(&scene, begun, scene.now() + 2 * SOON)?);
        Ok::<_, Error>(())
    });
    let (refused, listed) = (rhumb.requests(lane, 401), rhumb.lists(lane) - lists);
    outcome.requests = format!("{listed} lists, {refused} refused");
    let mut known = scene.known();
    (outcome.asked, outcome.changes) = (known.asked, known.changes);
    if let Err(error) = played {
        known.wrong.note(error.to_string());
    }
    // A fault that does nothing would be a fault of the test.
    if schedule.has(Fault::HistoryLost) && listed == 0 {
        known.wrong.note("history was lost, and nothing was listed again".into());
    }
    if known.wrong.count > 0 {
        let wrong = known.wrong.first.join("\n");
        let log = rhumb.server.output();
        outcome.failure = Some(format!("{} wrong:\n{wrong}\nRhumb:\n{log}", known.wrong.count));
    }
    Ok(())
}

/// All actions at their times, until everything is there again.
fn break_things(lane: &mut Lane, schedule: &Schedule, rhumb: &Rhumb, scene: &Scene) -> Result<()> {
    for (at, action) in action::all(schedule) {
        while scene.now() < at {
            scene.sleep_until(at.min(scene.now() + Duration::from_millis(500)));
            lane.look_after()?;
            lane.rotate()?;
        }
        if action == Action::RenewToken {
            await_refusal(lane, rhumb, scene)?;
        }
        let mut known = scene.known();
        known.calm = None;
        known.faults.push(format!("{action:?} {:.1}", scene.now().as_secs_f64()));
        drop(known);
        lane.act(action).map_err(|error| Error::new(format!("{action:?}: {error}")))?;
    }
    lane.wait_until_well()
}

/// An API server that starts slowly must not make the time too short in which a token is refused.
fn await_refusal(lane: &mut Lane, rhumb: &Rhumb, scene: &Scene) -> Result<()> {
    let limit = scene.now() + REFUSAL;
    while rhumb.requests(lane, 401) == 0 {
        if scene.now() > limit {
            return Err(Error::new("the token has expired, and nobody was refused"));
        }
        lane.look_after()?;
        scene.sleep_until(scene.now() + Duration::from_millis(250));
    }
    Ok(())
}

/// Names that nothing happened to are right before Rhumb is back at its watches.
fn await_watches(lane: &Lane, rhumb: &Rhumb, scene: &Scene, limit: Duration) -> Result<()> {
    while rhumb.is_stale(lane) {
        if scene.now() > limit {
            return Err(Error::new("the cluster is well, but is not watched"));
        }
        scene.sleep_until(scene.now() + Duration::from_millis(50));
    }
    Ok(())
}

/// How long it takes from a time on until all is as it should be.
fn recover(scene: &Scene, from: Duration, limit: Duration) -> Result<Duration> {
    let fresh = scene.wait_until_fresh(limit).map_err(Error::new)?;
    Ok(fresh.saturating_sub(from))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds =
            |time: Option<Duration>| time.map_or("never".into(), |t| format!("{:.1} s", t.as_secs_f64()));
        write!(
            f,
            "{}  RHUMB_SEED={}  {}  asked {}, changes {}, {}, recovered {}, calm {}",
            if self.failure.is_some() { "WRONG" } else { "right" },
            self.schedule.seed,
            self.schedule,
            self.asked,
            self.changes,
            self.requests,
            seconds(self.recovery),
            seconds(self.calm)
        )
    }
}
