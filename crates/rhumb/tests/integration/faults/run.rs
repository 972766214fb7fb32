//! Runs one schedule: changes, faults and queries concurrently, then the recovery.

use std::fmt;
use std::time::Duration;

use testkit::error::{Error, Result};
use testkit::network;
use testkit::random::Random;

use super::action::{self, Action};
use super::change::Changer;
use super::context::{Context, EndGuard};
use super::history::MAX_DELAY;
use super::plan::Plan;
use super::prober::probe;
use super::schedule::{Fault, Schedule};
use super::testbed::{Rhumb, Testbed};
use super::write;

/// Time limit from the last fault until every name is right.
const RECOVERY: Duration = Duration::from_secs(60);

/// Number of changes after recovery.
const LAST_CHANGES: usize = 4;

/// Time limit until the API server rejects an expired token.
const REFUSAL: Duration = Duration::from_secs(60);

/// The result of a schedule.
pub struct Outcome {
    pub schedule: Schedule,
    pub queries: usize,
    pub changes: usize,
    /// From the end of the last fault until every name was right.
    pub recovery: Option<Duration>,
    /// Time until the last changes, after recovery, were visible.
    pub change_delay: Option<Duration>,
    pub requests: String,
    /// The errors, and Rhumb's log.
    pub failure: Option<String>,
}

pub fn run(testbed: &mut Testbed, schedule: &Schedule, round: u8) -> Outcome {
    let mut outcome = Outcome {
        schedule: schedule.clone(),
        queries: 0,
        changes: 0,
        recovery: None,
        change_delay: None,
        requests: String::new(),
        failure: None,
    };
    let result = run_schedule(testbed, schedule, round, &mut outcome);
    if outcome.change_delay.is_none() {
        testbed.reset().unwrap_or_else(|error| panic!("{error}"));
    }
    if let Err(error) = result {
        outcome.failure = Some(format!("{error}\n{}", outcome.failure.take().unwrap_or_default()));
    }
    outcome
}

fn run_schedule(testbed: &mut Testbed, schedule: &Schedule, round: u8, outcome: &mut Outcome) -> Result<()> {
    testbed.wait_until_healthy()?;
    let plan = Plan::new(schedule, round);
    let api = testbed.cluster().api().with_timeout(write::TIMEOUT);
    Changer::begin(&api, &plan)?;
    let rhumb = testbed.start_rhumb(schedule)?;
    let lists = rhumb.lists(testbed);
    if lists == 0 {
        return Err(Error::new("Rhumb is ready, but has listed nothing"));
    }
    let context = Context::new(&plan);
    let mut changer = Changer { context: &context, plan, api, random: Random::new(schedule.seed) };
    let result = std::thread::scope(|scope| {
        let _end = EndGuard(&context);
        let (pod, server, probed) = (testbed.link.pod.path(), rhumb.server.addr(), &context);
        scope.spawn(move || {
            network::enter(&pod).unwrap_or_else(|error| panic!("{error}"));
            probe(probed, server);
        });
        let changing = scope.spawn(|| {
            changer.run(schedule.end());
            changer
        });
        inject_faults(testbed, schedule, &rhumb, &context)?;
        let end = context.now();
        while !changing.is_finished() {
            if context.now() > end + RECOVERY {
                return Err(Error::new("the cluster is healthy, but rejects a change"));
            }
            context.sleep_until(context.now() + Duration::from_millis(20));
        }
        let mut changer =
            changing.join().map_err(|_| Error::new("the thread that makes changes panicked"))?;
        outcome.recovery = Some(recover(&context, end, end + RECOVERY)?);
        await_watches(testbed, &rhumb, &context, end + RECOVERY)?;
        context.progress().healthy_since = Some(context.now());
        let start = context.now();
        (0..LAST_CHANGES).for_each(|_| changer.change());
        outcome.change_delay = Some(recover(&context, start, context.now() + 2 * MAX_DELAY)?);
        Ok::<_, Error>(())
    });
    let (rejected, listed) = (rhumb.requests(testbed, 401), rhumb.lists(testbed) - lists);
    outcome.requests = format!("{listed} lists, {rejected} rejected");
    let mut progress = context.progress();
    (outcome.queries, outcome.changes) = (progress.queries, progress.changes);
    if let Err(error) = result {
        progress.errors.add(error.to_string());
    }
    // A fault without effect would be a mistake in the test.
    if schedule.has(Fault::HistoryLost) && listed == 0 {
        progress.errors.add("history was compacted, but nothing was relisted".into());
    }
    if progress.errors.count > 0 {
        let errors = progress.errors.first.join("\n");
        let log = rhumb.server.output();
        outcome.failure = Some(format!("{} errors:\n{errors}\nRhumb:\n{log}", progress.errors.count));
    }
    Ok(())
}

/// Runs all actions at their times, then waits until the cluster is healthy.
fn inject_faults(testbed: &mut Testbed, schedule: &Schedule, rhumb: &Rhumb, context: &Context) -> Result<()> {
    for (at, action) in action::all(schedule) {
        while context.now() < at {
            context.sleep_until(at.min(context.now() + Duration::from_millis(500)));
            testbed.restart_if_exited()?;
            testbed.rotate()?;
        }
        if action == Action::RenewToken {
            await_refusal(testbed, rhumb, context)?;
        }
        let mut progress = context.progress();
        progress.healthy_since = None;
        progress.faults.push(format!("{action:?} {:.1}", context.now().as_secs_f64()));
        drop(progress);
        testbed.act(action).map_err(|error| Error::new(format!("{action:?}: {error}")))?;
    }
    testbed.wait_until_healthy()
}

/// Waits for the rejection of the token, which a slowly starting API server delays.
fn await_refusal(testbed: &mut Testbed, rhumb: &Rhumb, context: &Context) -> Result<()> {
    let limit = context.now() + REFUSAL;
    while rhumb.requests(testbed, 401) == 0 {
        if context.now() > limit {
            return Err(Error::new("the token has expired, but no request was rejected"));
        }
        testbed.restart_if_exited()?;
        context.sleep_until(context.now() + Duration::from_millis(250));
    }
    Ok(())
}

/// Waits for the watches: unchanged names are right even before they are re-established.
fn await_watches(testbed: &Testbed, rhumb: &Rhumb, context: &Context, limit: Duration) -> Result<()> {
    while rhumb.is_stale(testbed) {
        if context.now() > limit {
            return Err(Error::new("the cluster is healthy, but Rhumb reports stale data"));
        }
        context.sleep_until(context.now() + Duration::from_millis(50));
    }
    Ok(())
}

/// Time from `from` until every name is right.
fn recover(context: &Context, from: Duration, limit: Duration) -> Result<Duration> {
    let fresh = context.wait_until_fresh(limit).map_err(Error::new)?;
    Ok(fresh.saturating_sub(from))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds =
            |time: Option<Duration>| time.map_or("never".into(), |t| format!("{:.1} s", t.as_secs_f64()));
        write!(
            f,
            "{}  RHUMB_SEED={}  {}  queries {}, changes {}, {}, recovered after {}, last changes visible after {}",
            if self.failure.is_some() { "FAILED" } else { "passed" },
            self.schedule.seed,
            self.schedule,
            self.queries,
            self.changes,
            self.requests,
            seconds(self.recovery),
            seconds(self.change_delay)
        )
    }
}
