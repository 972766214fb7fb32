//! What is served and asked, the same for every server. Each workload is a value in a file of its own.

mod cache;
mod hosts;
mod misses;
mod resolver;
mod search;

use std::ops::RangeInclusive;

use testkit::cluster::Cluster;
use testkit::error::Result;

use crate::contender::Kind;

/// Workloads that share a file of results.
pub struct Suite {
    /// What the file's name begins with.
    pub name: &'static str,
    pub prepare: fn() -> Result<Prepared>,
}

pub const SUITES: [Suite; 4] = [
    Suite { name: "hosts", prepare: || Ok(alone(vec![hosts::alone(), hosts::kubeadm_like()])) },
    Suite { name: "cache", prepare: || Ok(alone(vec![cache::workload()])) },
    Suite { name: "misses", prepare: || Ok(alone(vec![misses::workload()])) },
    Suite { name: "search", prepare: search::prepare },
];

pub struct Prepared {
    pub workloads: Vec<Workload>,
    /// What the servers watch, if they do; it must outlive them.
    pub cluster: Option<Cluster>,
}

fn alone(workloads: Vec<Workload>) -> Prepared {
    Prepared { workloads, cluster: None }
}

pub struct Workload {
    pub name: &'static str,
    pub about: &'static str,
    pub contenders: &'static [Kind],
    /// Measured at saturation too, not under the fixed load alone.
    pub saturation: bool,
    /// For Rhumb and CoreDNS; what is filled in says `Place::write`, here and below.
    pub corefile: &'static str,
    /// For Unbound, after what it is always told.
    pub unbound: &'static str,
    /// Name and text of what the configuration reads.
    pub files: Vec<(&'static str, String)>,
    /// Where there is an upstream: the share of queries that must reach it, the proof of what is measured.
    pub forwarded: Option<RangeInclusive<f64>>,
    /// The share of answers that must be NXDOMAIN; all others must be NOERROR.
    pub denied: RangeInclusive<f64>,
    /// How many queries a client sends to find out what it wants to know.
    pub queries_per_look_up: u32,
    /// The questions of the turn with this number, in which no more queries than these are sent.
    pub turn: fn(number: u32, at_most: u64) -> Turn,
}

/// No answer is NXDOMAIN.
pub const NONE_DENIED: RangeInclusive<f64> = 0.0..=0.0;

/// What all servers are asked one after another. Lines are `name type`.
pub struct Turn {
    /// Asked once before measuring; may be empty.
    pub warm_up: String,
    /// Asked over and over.
    pub questions: String,
}

impl Turn {
    /// A question that spoils nothing when it is asked earlier.
    pub fn probe(&self) -> &str {
        self.warm_up.lines().chain(self.questions.lines()).next().unwrap_or_default()
    }
}
