//! One measurement: a load for some seconds, and what the server spent on it.

use std::fmt;
use std::time::Duration;

use testkit::dnsperf;
use testkit::error::{Error, Result};

use crate::contender::Contender;
use crate::workload::Workload;

/// dnsperf runs here.
pub const CLIENT_CPU: usize = 1;

/// Client sockets: enough that several workers would all get some, see reference on SO_REUSEPORT in README.md.
const CLIENTS: u32 = 16;

/// Losing more than this share is not serving the load.
const TOLERATED_LOSS: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Queries per second, the same for all.
    Fixed(u32),
    /// As fast as answers come back, with dnsperf's 100 outstanding.
    Saturation,
}

impl Load {
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Saturation => "saturation",
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(rate) => write!(f, "{rate} queries/s"),
            Self::Saturation => f.write_str("saturation"),
        }
    }
}

/// What one measurement gave. Times per query are in microseconds.
#[derive(Clone, Debug)]
pub struct Sample {
    pub user: f64,
    pub system: f64,
    pub queries_per_second: f64,
    pub latency: f64,
    pub lost: u64,
    pub rss: u64,
}

impl Sample {
    pub fn total(&self) -> f64 {
        self.user + self.system
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} + {:.2} us/query, {:.0} queries/s, {} lost",
            self.user, self.system, self.queries_per_second, self.lost
        )
    }
}

pub fn sample(contender: &Contender, workload: &Workload, load: Load, duration: Duration) -> Result<Sample> {
    let mut perf = dnsperf::Load::new(contender.addr(), workload.questions.clone());
    perf.duration = duration;
    perf.clients = CLIENTS;
    perf.cpu = Some(CLIENT_CPU);
    // A lost query is not waited for; it is counted.
    perf.args = vec!["-t".into(), "1".into()];
    if let Load::Fixed(rate) = load {
        perf.rate = Some(rate);
    }
    let name = contender.kind().name();
    let before = contender.process().cpu_times()?;
    let summary = perf.run()?;
    let after = contender.process().cpu_times()?;
    if summary.completed == 0 || summary.lost as f64 > summary.sent as f64 * TOLERATED_LOSS {
        return Err(Error::new(format!("{name} lost {} of {} queries", summary.lost, summary.sent)));
    }
    // Each question has an answer; anything else means that the servers do not do the same work.
    if summary.rcodes.keys().any(|rcode| rcode != "NOERROR") {
        return Err(Error::new(format!("{name} answered {:?}", summary.rcodes)));
    }
    let per_query = |spent: Duration| spent.as_secs_f64() * 1e6 / summary.completed as f64;
    Ok(Sample {
        user: per_query(after.0.saturating_sub(before.0)),
        system: per_query(after.1.saturating_sub(before.1)),
        queries_per_second: summary.queries_per_second,
        latency: summary.latency.average * 1e6,
        lost: summary.lost,
        rss: contender.process().rss()?,
    })
}
