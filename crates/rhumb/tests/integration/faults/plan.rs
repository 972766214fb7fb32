//! The subjects of a schedule and their changes: a function of the seed, except for the numbers in their names and
//! addresses, which keep schedules on one cluster apart.

use std::net::Ipv4Addr;

use testkit::random::Random;

use super::schedule::Schedule;
use super::subject::{Kind, State, Subject};

/// Number of subjects of each kind.
const SUBJECTS: [(Kind, usize); 4] =
    [(Kind::Namespace, 3), (Kind::Service, 9), (Kind::Headless, 4), (Kind::Pod, 4)];

/// These never change, and must always be answered.
const STEADY: [(Kind, usize); 3] = [(Kind::Namespace, 1), (Kind::Service, 2), (Kind::Pod, 1)];

pub struct Plan {
    random: Random,
    round: u8,
    /// Counts addresses of each kind.
    used: [u8; 3],
    /// The namespace of all subjects that are not namespaces.
    pub namespace: String,
    /// With their first states.
    pub subjects: Vec<(Subject, State)>,
    changing: Vec<usize>,
}

impl Plan {
    /// `round` must be unique among the schedules on a cluster.
    pub fn new(schedule: &Schedule, round: u8) -> Self {
        let random = Random::new(schedule.seed ^ 0x6368_616e_6765);
        let namespace = format!("round-{round}");
        let mut plan =
            Self { random, round, used: [0; 3], namespace, subjects: Vec::new(), changing: Vec::new() };
        for (kind, count) in SUBJECTS {
            if kind == Kind::Pod && !schedule.pods {
                continue;
            }
            let steady = STEADY.iter().find(|(steady, _)| *steady == kind).map_or(0, |(_, count)| *count);
            (0..count).for_each(|number| plan.add(kind, number, number < steady));
        }
        plan
    }

    fn add(&mut self, kind: Kind, number: usize, steady: bool) {
        let name = format!("{}-{number}", format!("{kind:?}").to_lowercase());
        let namespace = match kind {
            Kind::Namespace => format!("{}-{name}", self.namespace),
            _ => self.namespace.clone(),
        };
        let present = steady || kind == Kind::Headless || self.random.chance(0.6);
        let state = if present { self.state(kind) } else { State::Absent };
        if !steady {
            self.changing.push(self.subjects.len());
        }
        self.subjects.push((Subject { kind, namespace, name }, state));
    }

    /// A new state of an existing object.
    pub fn state(&mut self, kind: Kind) -> State {
        match kind {
            Kind::Namespace => State::Present,
            Kind::Service | Kind::Pod => State::At(self.address(kind)),
            Kind::Headless => {
                State::Endpoints((0..self.random.between(1, 3)).map(|_| self.address(kind)).collect())
            }
        }
    }

    /// An unused address. When all are used, it starts over.
    fn address(&mut self, kind: Kind) -> Ipv4Addr {
        let (network, used) = match kind {
            Kind::Service => (96, &mut self.used[0]),
            Kind::Pod => (201, &mut self.used[1]),
            _ => (202, &mut self.used[2]),
        };
        *used = *used % 254 + 1;
        Ipv4Addr::new(10, network, self.round, *used)
    }

    /// The next subject to change and its new state, given the current states.
    pub fn next(&mut self, state_of: impl Fn(usize) -> State) -> (usize, State) {
        let subject = *self.random.pick(&self.changing);
        let kind = self.subjects[subject].0.kind;
        let next = match state_of(subject) {
            State::Absent => self.state(kind),
            // Some endpoints stay, others are new.
            State::Endpoints(mut old) if self.random.chance(0.6) => {
                if old.len() > 1 {
                    old.remove(self.random.below(old.len()));
                }
                if old.len() < 4 {
                    old.push(self.address(kind));
                }
                State::Endpoints(old)
            }
            State::Endpoints(_) => self.state(kind),
            State::Present | State::At(_) => State::Absent,
        };
        (subject, next)
    }
}
