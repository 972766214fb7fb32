//! What goes wrong when, and what changes meanwhile: a function of a seed and nothing else.

use std::fmt;
use std::time::Duration;

use testkit::random::Random;

/// One thing that goes wrong with a cluster, or with the way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The API server is killed, and started again at the end.
    ApiKilled,
    /// The API server is killed and started again at once: what it remembered of the past is gone.
    ApiRestarted,
    /// The API server stands still: it takes connections and says nothing.
    ApiStopped,
    EtcdKilled,
    EtcdStopped,
    /// While the server is cut off, the cluster changes and forgets what it was like before.
    HistoryLost,
    /// The API server asks anew who we are, and the token in our file has expired until the end.
    TokenExpired,
    /// Nothing comes through to the API server or from it, and nobody is told.
    Cut,
}

/// What a fault happens to. Faults overlap only if they happen to different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Api,
    Etcd,
    Cable,
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
            // Each needs the others to be well, or it would not happen.
            Self::HistoryLost | Self::TokenExpired => &[Part::Api, Part::Etcd, Part::Cable],
            Self::Cut => &[Part::Cable],
        }
    }

    fn disjoint(self, other: Self) -> bool {
        self.parts().iter().all(|part| !other.parts().contains(part))
    }

    /// How long it may last: usually, and once in a while.
    fn seconds(self) -> [(f64, f64); 2] {
        match self {
            Self::ApiKilled => [(0.5, 8.0), (8.0, 20.0)],
            Self::ApiRestarted => [(0.0, 0.0); 2],
            // Longer than a request is waited for.
            Self::ApiStopped => [(3.0, 15.0), (32.0, 40.0)],
            Self::EtcdKilled => [(0.5, 6.0), (6.0, 15.0)],
            Self::EtcdStopped => [(2.0, 10.0), (10.0, 20.0)],
            Self::HistoryLost => [(5.0, 8.0), (8.0, 15.0)],
            Self::TokenExpired => [(6.0, 12.0), (12.0, 20.0)],
            // Longer than it takes to notice.
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
    /// Whether pods are watched, too.
    pub pods: bool,
    pub steps: Vec<Step>,
}

/// How often each fault comes.
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

/// How often a fault lasts long.
const LONG: f64 = 0.08;

/// How often a fault begins before the last one has ended, if it can.
const OVERLAP: f64 = 0.4;

impl Schedule {
    /// Three to six faults of all kinds and lengths.
    pub fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let faults: Vec<Fault> = (0..random.between(3, 6)).map(|_| *random.weighted(FAULTS)).collect();
        Self::of(seed, &mut random, &faults, LONG, 1.0)
    }

    /// These faults in this order, as short as they come.
    pub fn short(seed: u64, faults: &[Fault]) -> Self {
        Self::of(seed, &mut Random::new(seed), faults, 0.0, 0.3)
    }

    fn of(seed: u64, random: &mut Random, faults: &[Fault], long: f64, stretch: f64) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        for &fault in faults {
            // A token that has expired is followed by one that lasts.
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

    /// When the last fault is over.
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
fn a_seed_says_everything() {
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
