//! Forwarded misses: no name is queried twice.

use super::resolver::{self, question};
use super::{Turn, Workload};
use crate::contender::Kind::{Before, CoreDns, Rhumb, Unbound};
use crate::goal::{Goal, Measure};

/// More than the default capacity of any cache: eviction is part of the cost.
const WARM_UP_NAMES: u64 = 20_000;

const GOALS: &[Goal] = &[
    Goal::at_most(1.0 / 3.0, Measure::Total, CoreDns),
    Goal::at_most(1.0, Measure::Total, Unbound),
    Goal::at_most(1.0 / 3.0, Measure::P99, CoreDns),
];

pub fn workload() -> Workload {
    Workload {
        contenders: &[Rhumb, Before, CoreDns, Unbound],
        unbound: resolver::UNBOUND,
        forwarded: Some(0.99..=1.05),
        turn,
        goals: GOALS,
        ..Workload::new(
            "misses",
            "every query a new name, forwarded: errors, prometheus, forward, cache 30 and loadbalance",
            resolver::COREFILE,
        )
    }
}

fn turn(number: u32, at_most: u64) -> Turn {
    let questions = |zone: String, count: u64| (0..count).map(|n| question(n, &zone)).collect();
    Turn {
        warm_up: questions(format!("before-{number}.misses.example"), WARM_UP_NAMES),
        questions: questions(format!("turn-{number}.misses.example"), at_most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_question_repeats() {
        let turns = [turn(0, 500), turn(1, 500)];
        let lines: Vec<&str> =
            turns.iter().flat_map(|turn| turn.warm_up.lines().chain(turn.questions.lines())).collect();
        assert_eq!(lines.len() as u64, 2 * (WARM_UP_NAMES + 500));
        assert_eq!(lines.iter().collect::<std::collections::HashSet<_>>().len(), lines.len());
    }
}
