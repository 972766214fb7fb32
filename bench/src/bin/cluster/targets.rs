//! Rhumb's targets and their verdicts.

use testkit::Kind;

use crate::results::{Outcome, Results, Row, StormRow};
use crate::watch::PERIOD;

#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The letter of the size, or the storm.
    pub of: &'static str,
    pub what: &'static str,
    pub unit: &'static str,
    pub value: f64,
    pub most: f64,
}

impl Target {
    pub fn met(&self) -> bool {
        self.value <= self.most
    }

    pub fn verdict(&self) -> &'static str {
        if self.met() { "met" } else { "not met" }
    }
}

pub fn all(results: &Results) -> Vec<Target> {
    let mut targets: Vec<Target> = results.outcomes.iter().flat_map(of_size).collect();
    targets.extend(of_storm(&results.storm));
    targets
}

/// None if one of the servers is missing.
fn of_size(outcome: &Outcome) -> Vec<Target> {
    let row = |kind| outcome.rows.iter().find(|row: &&Row| row.server == kind);
    let (Some(ours), Some(theirs)) = (row(Kind::Rhumb), row(Kind::CoreDns)) else { return Vec::new() };
    let of = outcome.size.letter;
    let to = |what, value, other, most| Target { of, what, unit: "× CoreDNS's", value: value / other, most };
    let mut targets = vec![to("memory after start", ours.rss.median, theirs.rss.median, 0.25)];
    targets.extend(outcome.size.memory_target.map(|most| Target {
        of,
        what: "memory after start",
        unit: "MB",
        value: ours.rss.median / 1e6,
        most: most as f64 / 1e6,
    }));
    targets.extend([
        Target {
            of,
            what: "peak at a relist",
            unit: "× steady",
            value: ours.relist_growth.median,
            most: 1.3,
        },
        to("start to right answer", ours.start.median, theirs.start.median, 0.5),
        // A difference, not a ratio: delays may be negative. A difference below the query interval is within the
        // resolution.
        Target {
            of,
            what: "watch to answer, p99",
            unit: "ms",
            value: ours.from_event.p99(),
            most: theirs.from_event.p99() + PERIOD.as_secs_f64() * 1e3,
        },
    ]);
    targets
}

fn of_storm(rows: &[StormRow]) -> Vec<Target> {
    let row = |kind| rows.iter().find(|row| row.server == kind);
    let (Some(ours), Some(theirs)) = (row(Kind::Rhumb), row(Kind::CoreDns)) else { return Vec::new() };
    let to = |what, value: f64, other: f64| Target {
        of: "storm",
        what,
        unit: "× CoreDNS's",
        value: value / other,
        most: 1.0,
    };
    vec![
        to("CPU under changes", ours.storm.cpu.median, theirs.storm.cpu.median),
        to("answers under changes, p99", ours.storm.answers.p99(), theirs.storm.answers.p99()),
        to("change to answer, p99", ours.delays.p99(), theirs.delays.p99()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::SIZES;
    use crate::percentile::Times;
    use crate::relist::Memory;
    use crate::round::Sample;
    use crate::watch::Delays;
    use std::time::Duration;

    fn sample(start: u64, rss: u64, peak: u64, delay: f64) -> Sample {
        Sample {
            start: Duration::from_millis(start),
            rss,
            start_peak: rss,
            relist: Memory { before: rss, peak, after: rss },
            delays: Delays { from_write: Times::new(vec![delay]), from_event: Times::new(vec![delay]) },
        }
    }

    #[test]
    fn verdicts() {
        let theirs = sample(2_000, 200_000_000, 400_000_000, 5.0);
        for (ours, expected) in [
            (sample(1_000, 40_000_000, 52_000_000, 5.2), [true; 5]),
            (sample(1_001, 41_000_000, 41_000_000, 5.0), [true, false, true, false, true]),
            (sample(10, 51_000_000, 102_000_000, 5.3), [false, false, false, true, false]),
        ] {
            let outcome = Outcome::new(&SIZES[0], vec![(Kind::CoreDns, theirs.clone()), (Kind::Rhumb, ours)]);
            let targets = of_size(&outcome);
            assert_eq!(targets.iter().map(Target::met).collect::<Vec<_>>(), expected, "{targets:?}");
        }
        let alone = Outcome::new(&SIZES[0], vec![(Kind::CoreDns, theirs)]);
        assert_eq!(of_size(&alone), []);
    }
}
