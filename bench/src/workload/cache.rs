//! Cache hits.

use super::resolver::{self, question};
use super::{NONE_FORWARDED, Turn, Workload};
use crate::contender::Kind::{Before, CoreDns, Echo, Rhumb, Unbound};
use crate::goal::{Goal, Measure};

const NAMES: u64 = 1_000;

const GOALS: &[Goal] = &[
    Goal::at_most(0.8, Measure::Total, Unbound),
    Goal::at_most(1.0 / 3.0, Measure::User, Unbound),
    Goal::at_most(1.0 / 3.0, Measure::P99, CoreDns),
];

pub fn workload() -> Workload {
    Workload {
        contenders: &[Echo, Rhumb, Before, CoreDns, Unbound],
        unbound: resolver::UNBOUND,
        forwarded: Some(NONE_FORWARDED),
        turn,
        goals: GOALS,
        ..Workload::new(
            "cache",
            "1,000 names, all in the cache: errors, prometheus, forward, cache 30 and loadbalance",
            resolver::COREFILE,
        )
    }
}

/// Each turn has its own names: they enter the cache with the warm-up, so none expires during the measurement.
fn turn(number: u32, _at_most: u64) -> Turn {
    let zone = format!("turn-{number}.cache.example");
    let questions: String = (0..NAMES).map(|n| question(n, &zone)).collect();
    Turn { warm_up: questions.clone(), questions }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_in_the_warm_up_and_in_no_earlier_turn() {
        let (first, second) = (turn(0, 0), turn(1, 0));
        assert_eq!(first.questions.lines().count() as u64, NAMES);
        assert_eq!(first.warm_up, first.questions);
        assert!(first.questions.lines().all(|line| !second.questions.contains(line)));
    }
}
