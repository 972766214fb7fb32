//! Forwarded misses: no name is asked for twice.

use super::resolver::{self, question};
use super::{NONE_DENIED, Turn, Workload};
use crate::contender::Kind;

/// More than any of the caches holds as it comes: putting old answers out is part of the price.
const CACHED: u64 = 20_000;

pub fn workload() -> Workload {
    Workload {
        name: "misses",
        about: "every query a new name, forwarded: errors, prometheus, forward, cache 30 and loadbalance",
        contenders: &[Kind::Rhumb, Kind::CoreDns, Kind::Unbound],
        saturation: true,
        corefile: resolver::COREFILE,
        unbound: resolver::UNBOUND,
        files: Vec::new(),
        forwarded: Some(0.99..=1.05),
        denied: NONE_DENIED,
        queries_per_look_up: 1,
        turn,
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
