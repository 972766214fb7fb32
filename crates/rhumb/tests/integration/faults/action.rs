//! Faults as timed actions.

use std::time::Duration;

use super::schedule::{Fault, Schedule, Step};
use super::testbed::TOKEN_LIFETIME;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    KillApi,
    StartApi,
    StopApi,
    ContinueApi,
    KillEtcd,
    StartEtcd,
    StopEtcd,
    ContinueEtcd,
    Compact,
    Cut,
    Restore,
    ExpireToken,
    RenewToken,
}

/// The actions of a schedule in order of time.
pub fn all(schedule: &Schedule) -> Vec<(Duration, Action)> {
    let mut actions: Vec<_> = schedule.steps.iter().flat_map(actions_of).collect();
    // A stable sort keeps the order of simultaneous actions.
    actions.sort_by_key(|(at, _)| *at);
    actions
}

fn actions_of(step: &Step) -> Vec<(Duration, Action)> {
    use Action::*;
    let (begin, end) = (step.at, step.end());
    let middle = begin + step.lasts.mul_f64(0.6);
    match step.fault {
        Fault::ApiKilled => vec![(begin, KillApi), (end, StartApi)],
        Fault::ApiRestarted => vec![(begin, KillApi), (begin, StartApi)],
        Fault::ApiStopped => vec![(begin, StopApi), (end, ContinueApi)],
        Fault::EtcdKilled => vec![(begin, KillEtcd), (end, StartEtcd)],
        Fault::EtcdStopped => vec![(begin, StopEtcd), (end, ContinueEtcd)],
        // A running API server would still have the history in its cache.
        Fault::HistoryLost => {
            vec![(begin, Cut), (middle, KillApi), (middle, Compact), (middle, StartApi), (end, Restore)]
        }
        // A running watch is not authenticated again. So the API server is down until the token that a client
        // has cached has expired, too.
        Fault::TokenExpired => {
            let expired = begin + TOKEN_LIFETIME;
            vec![(begin, ExpireToken), (begin, KillApi), (expired, StartApi), (end.max(expired), RenewToken)]
        }
        Fault::Cut => vec![(begin, Cut), (end, Restore)],
    }
}
