//! Forwarded misses: no name is asked for twice.

use super::resolver::{self, question};
use super::{Turn, Workload};
use crate::contender::Kind::{Before, CoreDns, Rhumb, Unbound};
use crate::goal::{Goal, Measure};

/// More than any of the caches holds as it comes: putting old answers out is part of the price.
const CACHED: u64 = 20_000;

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
        warm_up: questions(format!("before-{number}.misses.example"), CACHED),
        questions: questions(format!("turn-{number}.misses.example"), at_most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_asked_twice() {
        let turns = [turn(0, 500), turn(1, 500)];
        let lines: Vec<&str> =
            turns.iter().flat_map(|turn| turn.warm_up.lines().chain(turn.questions.lines())).collect();
        assert_eq!(lines.len() as u64, 2 * (CACHED + 500));
        assert_eq!(lines.iter().collect::<std::collections::HashSet<_>>().len(), lines.len());
    }
}
