//! What is served and asked, the same for every server. Each workload is a value in a file of its own.

mod cache;
mod hosts;
mod misses;
mod resolver;

use std::ops::RangeInclusive;

use crate::contender::Kind;

/// Workloads that share a file of results.
pub struct Suite {
    /// What the file's name begins with.
    pub name: &'static str,
    pub workloads: fn() -> Vec<Workload>,
}

pub const SUITES: [Suite; 3] = [
    Suite { name: "hosts", workloads: || vec![hosts::alone(), hosts::kubeadm_like()] },
    Suite { name: "cache", workloads: || vec![cache::workload()] },
    Suite { name: "misses", workloads: || vec![misses::workload()] },
];

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
    /// The questions of the turn with this number, in which no more queries than these are sent.
    pub turn: fn(number: u32, at_most: u64) -> Turn,
}

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
