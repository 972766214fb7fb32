//! One measurement: a load for some seconds, and the server's CPU time for it.

use std::fmt;
use std::thread;
use std::time::Duration;

use testkit::client::Transport;
use testkit::error::{Context, Error, Result};

use crate::clusters::WatchedCluster;
use crate::contender::{Contender, Kind};
use crate::load::{Client, Load};
use crate::prober::{self, Latency, ProbeResult};
use crate::upstream::Upstream;
use crate::usage::{self, Usage};
use crate::workload::{Turn, Workload};

/// Outstanding queries of dnsperf. A server that loses too many is measured again with fewer.
const OUTSTANDING: [u32; 3] = [100, 50, 25];

/// One per connection: with more, large answers queue behind one another.
const OUTSTANDING_OVER_TCP: [u32; 3] = [16, 12, 8];

/// The result of one measurement. Times per query are in microseconds.
#[derive(Clone, Debug)]
pub struct Sample {
    pub user: f64,
    pub system: f64,
    pub queries_per_second: f64,
    /// dnsperf's average.
    pub average: f64,
    /// Latency of single answers, under the fixed load and over UDP.
    pub latency: Option<Latency>,
    pub lost: u64,
    pub rss: u64,
    /// Dropped log lines.
    pub unlogged: u64,
    /// Queries at the upstream per answered query.
    pub forwarded: f64,
}

impl Sample {
    pub fn total(&self) -> f64 {
        self.user + self.system
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, system, queries_per_second, lost, .. } = self;
        write!(f, "{user:.2} + {system:.2} us/query, {queries_per_second:.0} queries/s, {lost} lost")?;
        match self.latency {
            Some(Latency { p50, p99 }) => write!(f, ", p50 {p50:.0} us, p99 {p99:.0} us"),
            None => Ok(()),
        }
    }
}

/// Measures the servers of one workload.
pub struct Meter<'a> {
    pub workload: &'a Workload,
    pub watched: Option<&'a WatchedCluster>,
    pub upstream: &'a Upstream,
    pub duration: Duration,
}

impl Meter<'_> {
    /// Outstanding queries per attempt.
    pub fn outstanding(&self) -> [u32; 3] {
        match self.workload.transport {
            Transport::Udp => OUTSTANDING,
            Transport::Tcp => OUTSTANDING_OVER_TCP,
        }
    }

    pub fn turn(&self, number: u32, load: Load) -> Turn {
        (self.workload.turn)(number, load.at_most(self.duration))
    }

    /// Sends a server the queries of the turn, and returns its cost.
    pub fn sample(&self, contender: &Contender, turn: &Turn, load: Load, outstanding: u32) -> Result<Sample> {
        let name = contender.kind().name();
        let client = Client { server: contender.addr(), transport: self.workload.transport, outstanding };
        client.warm_up(turn).context(name)?;
        let _paused = self.watched.map(WatchedCluster::pause).transpose()?;
        let unlogged = self.unlogged(contender)?;
        let pid = contender.process().pid();
        let (before, asked) = (Usage::by(pid)?, self.upstream.received());
        let (summary, probed) = thread::scope(|scope| {
            let probing = self
                .probes(load)
                .then(|| scope.spawn(|| prober::probe(contender.addr(), &turn.questions, self.duration)));
            // The echo never answers NXDOMAIN.
            let anything = 0.0..=1.0;
            let denied = if contender.kind() == Kind::Echo { &anything } else { &self.workload.denied };
            let summary = client.run(turn, load, self.duration, denied).context(name)?;
            let died = |_| Error::new("the prober panicked");
            let probed = probing.map(|probing| probing.join().map_err(died)?).transpose().context(name)?;
            Ok::<_, Error>((summary, probed))
        })?;
        let (user, system) = Usage::by(pid)?.since(before);
        let asked = self.upstream.received() - asked;
        let answered = (summary.completed + probed.as_ref().map_or(0, |probed| probed.answered)) as f64;
        let per_query = |spent: Duration| spent.as_secs_f64() * 1e6 / answered;
        let forwarded = asked as f64 / answered;
        if let Some(wanted) = &self.workload.forwarded
            && !wanted.contains(&forwarded)
        {
            return Err(Error::new(format!(
                "{name} sent the upstream {forwarded:.4} queries per query, expected {wanted:?}"
            )));
        }
        Ok(Sample {
            user: per_query(user),
            system: per_query(system),
            queries_per_second: summary.queries_per_second,
            average: summary.latency.average * 1e6,
            latency: probed.map(|ProbeResult { latency, .. }| latency),
            lost: summary.lost,
            rss: usage::resident(pid)?,
            unlogged: self.unlogged(contender)? - unlogged,
            forwarded,
        })
    }

    fn unlogged(&self, contender: &Contender) -> Result<u64> {
        if self.workload.logs { contender.dropped_log_lines() } else { Ok(0) }
    }

    /// At saturation the latency depends on dnsperf's queue only, so it is not probed.
    fn probes(&self, load: Load) -> bool {
        matches!(load, Load::Fixed(_)) && self.workload.transport == Transport::Udp
    }
}

#[cfg(test)]
impl Sample {
    /// One with these times.
    pub fn of(user: f64, system: f64, p99: Option<f64>) -> Self {
        let latency = p99.map(|p99| Latency { p50: p99 / 2.0, p99 });
        let (queries_per_second, average, rss, lost, unlogged) = (1000.0, 100.0, 1 << 20, 0, 0);
        Self { user, system, queries_per_second, average, latency, lost, rss, unlogged, forwarded: 0.0 }
    }
}
