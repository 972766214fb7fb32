//! What is served and asked, the same for every server. Each workload is a value in a file of its own.

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

use crate::contender::Kind;
use crate::goal::Goal;
use crate::ground::{Grounds, Watched};
use crate::population::Zone;

/// Workloads that share a file of results.
pub struct Suite {
    /// What the file's name begins with.
    pub name: &'static str,
    pub prepare: fn(&Grounds) -> Result<Prepared>,
}

/// Those that share a cluster follow one another.
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
    /// What the servers watch, if they do; it must outlive them.
    pub watched: Option<Rc<Watched>>,
}

fn alone(workloads: Vec<Workload>) -> Prepared {
    Prepared { workloads, watched: None }
}

pub struct Workload {
    pub name: &'static str,
    pub about: &'static str,
    pub contenders: &'static [Kind],
    pub transport: Transport,
    /// Every query is logged, to nobody.
    pub logs: bool,
    /// Measured at saturation too, not under the fixed load alone.
    pub saturation: bool,
    /// For Rhumb and CoreDNS; what is filled in says `Place::write`, here and below.
    pub corefile: String,
    /// For Unbound, after what it is always told.
    pub unbound: &'static str,
    /// For servers of static zones: Knot, NSD, and Unbound's local data.
    pub zones: Vec<Zone>,
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

/// Next to nothing may reach the upstream.
const NONE_FORWARDED: RangeInclusive<f64> = 0.0..=0.001;

/// What all servers are asked one after another. Lines are `name type`.
pub struct Turn {
    /// Asked once before measuring; may be empty.
    pub warm_up: String,
    /// Asked over and over, from the first line on; what is timed is asked from the last line on.
    pub questions: String,
}

impl Turn {
    /// Questions that spoil nothing when they are asked earlier, in another turn than this.
    pub fn probes(&self) -> impl Iterator<Item = &str> {
        self.questions.lines().take(1).chain(self.questions.lines().next_back())
    }
}
