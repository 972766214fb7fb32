//! Faults as what is done at which time.

use std::time::Duration;

use super::lane::TOKEN;
use super::schedule::{Fault, Schedule, Step};

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
    Mend,
    ExpireToken,
    RenewToken,
}

/// All of a schedule in the order of time.
pub fn all(schedule: &Schedule) -> Vec<(Duration, Action)> {
    let mut actions: Vec<_> = schedule.steps.iter().flat_map(of).collect();
    // Stable: what happens at one time keeps its order.
    actions.sort_by_key(|(at, _)| *at);
    actions
}

fn of(step: &Step) -> Vec<(Duration, Action)> {
    use Action::*;
    let (begin, end) = (step.at, step.end());
    let middle = begin + step.lasts.mul_f64(0.6);
    match step.fault {
        Fault::ApiKilled => vec![(begin, KillApi), (end, StartApi)],
        Fault::ApiRestarted => vec![(begin, KillApi), (begin, StartApi)],
        Fault::ApiStopped => vec![(begin, StopApi), (end, ContinueApi)],
        Fault::EtcdKilled => vec![(begin, KillEtcd), (end, StartEtcd)],
        Fault::EtcdStopped => vec![(begin, StopEtcd), (end, ContinueEtcd)],
        // An API server that runs on would still remember.
        Fault::HistoryLost => {
            vec![(begin, Cut), (middle, KillApi), (middle, Compact), (middle, StartApi), (end, Mend)]
        }
        // A watch that goes on is not asked for its token again. The API server is away until the token that a client
        // remembers has expired, too.
        Fault::TokenExpired => {
            let expired = begin + TOKEN;
            vec![(begin, ExpireToken), (begin, KillApi), (expired, StartApi), (end.max(expired), RenewToken)]
        }
        Fault::Cut => vec![(begin, Cut), (end, Mend)],
    }
}
