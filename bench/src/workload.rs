//! Workloads: configuration and queries, the same for every server. Each workload is a value in its own file.

mod cache;
mod cluster;
mod hosts;
mod log;
mod misses;
mod resolver;
mod search;
mod tcp;

use std::ops::RangeInclusive;
use std::rc::Rc;

use testkit::client::Transport;
use testkit::error::Result;

use crate::clusters::{SharedClusters, WatchedCluster};
use crate::contender::Kind;
use crate::goal::Goal;
use crate::population::Zone;

/// Workloads that share a file of results.
pub struct Suite {
    /// The prefix of the file's name.
    pub name: &'static str,
    pub prepare: fn(&SharedClusters) -> Result<Prepared>,
}

/// Those that share a cluster are adjacent.
pub const SUITES: [Suite; 7] = [
    Suite { name: "hosts", prepare: |_| Ok(alone(vec![hosts::alone(), hosts::kubeadm_like()])) },
    Suite { name: "cache", prepare: |_| Ok(alone(vec![cache::workload()])) },
    Suite { name: "misses", prepare: |_| Ok(alone(vec![misses::workload()])) },
    Suite { name: "search", prepare: |_| search::prepare() },
    Suite { name: "cluster", prepare: cluster::prepare },
    Suite { name: "log", prepare: log::prepare },
    Suite { name: "tcp", prepare: tcp::prepare },
];

pub struct Prepared {
    pub workloads: Vec<Workload>,
    /// The cluster that the servers watch, if any; it must outlive them.
    pub watched: Option<Rc<WatchedCluster>>,
}

fn alone(workloads: Vec<Workload>) -> Prepared {
    Prepared { workloads, watched: None }
}

pub struct Workload {
    pub name: &'static str,
    pub about: &'static str,
    pub contenders: &'static [Kind],
    pub transport: Transport,
    /// Every query is logged, to /dev/null.
    pub logs: bool,
    /// Measured at saturation too, not only under the fixed load.
    pub saturation: bool,
    /// For Rhumb and CoreDNS; placeholders as in `Instance::write`, here and below.
    pub corefile: String,
    /// For Unbound, after its fixed configuration.
    pub unbound: &'static str,
    /// For servers of static zones: Knot, NSD, and Unbound's local data.
    pub zones: Vec<Zone>,
    /// Name and text of the files that the configuration names.
    pub files: Vec<(&'static str, String)>,
    /// With an upstream: the share of queries that must reach it.
    pub forwarded: Option<RangeInclusive<f64>>,
    /// The share of answers that must be NXDOMAIN; all others must be NOERROR.
    pub denied: RangeInclusive<f64>,
    /// Queries per lookup of a client.
    pub queries_per_look_up: u32,
    /// The questions of the turn with this number, with at most so many queries.
    pub turn: fn(number: u32, at_most: u64) -> Turn,
    pub goals: &'static [Goal],
}

impl Workload {
    /// Rhumb beside CoreDNS over UDP: nothing forwarded on purpose, nothing denied, no goal.
    pub fn new(name: &'static str, about: &'static str, corefile: impl Into<String>) -> Self {
        Self {
            name,
            about,
            contenders: &[Kind::Rhumb, Kind::CoreDns],
            transport: Transport::Udp,
            logs: false,
            saturation: true,
            corefile: corefile.into(),
            unbound: "",
            zones: Vec::new(),
            files: Vec::new(),
            forwarded: None,
            denied: NONE_DENIED,
            queries_per_look_up: 1,
            turn: |_, _| Turn { warm_up: String::new(), questions: String::new() },
            goals: &[],
        }
    }
}

/// No answer is NXDOMAIN.
pub const NONE_DENIED: RangeInclusive<f64> = 0.0..=0.0;

/// Almost nothing may reach the upstream.
const NONE_FORWARDED: RangeInclusive<f64> = 0.0..=0.001;

/// The questions for all servers in turn. Lines are `name type`.
pub struct Turn {
    /// Sent once before measuring; may be empty.
    pub warm_up: String,
    /// Sent repeatedly, from the first line on; the prober starts from the last line.
    pub questions: String,
}

impl Turn {
    /// Questions that may be sent before this turn.
    pub fn probes(&self) -> impl Iterator<Item = &str> {
        self.questions.lines().take(1).chain(self.questions.lines().next_back())
    }
}
