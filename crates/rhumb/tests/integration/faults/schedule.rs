//! The faults and their times: a function of the seed alone.

use std::fmt;
use std::time::Duration;

use testkit::random::Random;

/// A fault of a cluster or of the link to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The API server is killed, and restarted at the end.
    ApiKilled,
    /// The API server is killed and restarted at once: its watch cache is empty.
    ApiRestarted,
    /// The API server is stopped (SIGSTOP): connections open, nothing is answered.
    ApiStopped,
    EtcdKilled,
    EtcdStopped,
    /// While the link is cut, the cluster changes and etcd is compacted.
    HistoryLost,
    /// The API server restarts, and the token in the file has expired until the end.
    TokenExpired,
    /// All packets between Rhumb and the API server are dropped silently.
    Cut,
}

/// The component a fault affects. Faults overlap only on different components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Api,
    Etcd,
    Link,
}

impl Fault {
    pub const ALL: [Self; 8] = [
        Self::ApiKilled,
        Self::ApiRestarted,
        Self::ApiStopped,
        Self::EtcdKilled,
        Self::EtcdStopped,
        Self::HistoryLost,
        Self::TokenExpired,
        Self::Cut,
    ];

    fn parts(self) -> &'static [Part] {
        match self {
            Self::ApiKilled | Self::ApiRestarted | Self::ApiStopped => &[Part::Api],
            Self::EtcdKilled | Self::EtcdStopped => &[Part::Etcd],
            // These need the other components to be healthy to have an effect.
            Self::HistoryLost | Self::TokenExpired => &[Part::Api, Part::Etcd, Part::Link],
            Self::Cut => &[Part::Link],
        }
    }

    fn disjoint(self, other: Self) -> bool {
        self.parts().iter().all(|part| !other.parts().contains(part))
    }

    /// Range of its usual duration, and of its rare one.
    fn seconds(self) -> [(f64, f64); 2] {
        match self {
            Self::ApiKilled => [(0.5, 8.0), (8.0, 20.0)],
            Self::ApiRestarted => [(0.0, 0.0); 2],
            // The rare one is longer than a request's timeout.
            Self::ApiStopped => [(3.0, 15.0), (32.0, 40.0)],
            Self::EtcdKilled => [(0.5, 6.0), (6.0, 15.0)],
            Self::EtcdStopped => [(2.0, 10.0), (10.0, 20.0)],
            Self::HistoryLost => [(5.0, 8.0), (8.0, 15.0)],
            Self::TokenExpired => [(6.0, 12.0), (12.0, 20.0)],
            // The rare one is longer than a watch's timeout.
            Self::Cut => [(5.0, 20.0), (62.0, 75.0)],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub fault: Fault,
    pub at: Duration,
    pub lasts: Duration,
}

impl Step {
    pub fn end(&self) -> Duration {
        self.at + self.lasts
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    pub seed: u64,
    /// Whether pods are watched.
    pub pods: bool,
    pub steps: Vec<Step>,
}

/// The faults, with weights.
const FAULTS: &[(u32, Fault)] = &[
    (3, Fault::ApiKilled),
    (2, Fault::ApiRestarted),
    (4, Fault::ApiStopped),
    (3, Fault::EtcdKilled),
    (3, Fault::EtcdStopped),
    (3, Fault::HistoryLost),
    (2, Fault::TokenExpired),
    (6, Fault::Cut),
];

/// Probability of a rare, long duration.
const LONG: f64 = 0.08;

/// Probability that a fault starts before the last one has ended, if it can.
const OVERLAP: f64 = 0.4;

impl Schedule {
    /// Three to six faults of all kinds and lengths.
    pub fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let faults: Vec<Fault> = (0..random.between(3, 6)).map(|_| *random.weighted(FAULTS)).collect();
        Self::build(seed, &mut random, &faults, LONG, 1.0)
    }

    /// These faults in this order, with short durations.
    pub fn short(seed: u64, faults: &[Fault]) -> Self {
        Self::build(seed, &mut Random::new(seed), faults, 0.0, 0.3)
    }

    fn build(seed: u64, random: &mut Random, faults: &[Fault], long: f64, stretch: f64) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        for &fault in faults {
            // Tokens expire once only: the next one is valid for long.
            let again = fault == Fault::TokenExpired && steps.iter().any(|step| step.fault == fault);
            let fault = if again { Fault::Cut } else { fault };
            let [usual, rare] = fault.seconds();
            let (low, high) = if random.chance(long) { rare } else { usual };
            let lasts = between(random, low, low + (high - low) * stretch);
            let over = steps.iter().map(Step::end).max().unwrap_or_default();
            let mut at = over + between(random, 1.5, 1.5 + 3.0 * stretch);
            if let Some(last) = steps.last()
                && random.chance(OVERLAP)
            {
                at = last.at + last.lasts.mul_f64(0.5);
            }
            let others = steps.iter().filter(|step| !step.fault.disjoint(fault));
            let free = others.map(|step| step.end() + Duration::from_millis(500)).max().unwrap_or_default();
            steps.push(Step { fault, at: at.max(free), lasts });
        }
        Self { seed, pods: random.chance(0.6), steps }
    }

    pub fn has(&self, fault: Fault) -> bool {
        self.steps.iter().any(|step| step.fault == fault)
    }

    /// The end of the last fault.
    pub fn end(&self) -> Duration {
        self.steps.iter().map(Step::end).max().unwrap_or_default()
    }
}

fn between(random: &mut Random, low: f64, high: f64) -> Duration {
    let milliseconds = |seconds: f64| (seconds * 1000.0) as usize;
    Duration::from_millis(random.between(milliseconds(low), milliseconds(high)) as u64)
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, Step { fault, at, lasts }) in self.steps.iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{fault:?} {:.1}+{:.1}", at.as_secs_f64(), lasts.as_secs_f64())?;
        }
        if self.pods { f.write_str(" (with pods)") } else { Ok(()) }
    }
}

#[test]
fn same_seed_same_schedule() {
    for seed in 0..1000 {
        let schedule = Schedule::random(seed);
        assert_eq!(schedule, Schedule::random(seed));
        assert!((3..=6).contains(&schedule.steps.len()), "{schedule}");
        for (n, one) in schedule.steps.iter().enumerate() {
            for other in &schedule.steps[n + 1..] {
                let apart = one.end() < other.at || other.end() < one.at;
                assert!(apart || one.fault.disjoint(other.fault), "{schedule}");
            }
        }
    }
    let all: Vec<Schedule> = (0..200).map(Schedule::random).collect();
    assert!(Fault::ALL.iter().all(|fault| all.iter().any(|schedule| schedule.has(*fault))));
    let overlap = |s: &Schedule| s.steps.windows(2).any(|pair| pair[1].at < pair[0].end());
    assert!(all.iter().any(overlap) && !all.iter().all(overlap));
}
