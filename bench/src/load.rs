//! The load by dnsperf, and the check of its answers.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use testkit::client::Transport;
use testkit::dnsperf::{self, Summary};
use testkit::error::{Error, Result};

use crate::prober;
use crate::workload::Turn;
use bench::machine::CLIENT_CPU;

/// Client sockets: enough that several workers would all get some, since SO_REUSEPORT spreads by address.
const CLIENTS: u32 = 16;

/// Time limit of a warm-up.
const WARM_UP: Duration = Duration::from_secs(20);

/// Queries per second beyond any forwarder on one CPU.
const MAX_RATE: u64 = 100_000;

/// Maximum share of lost queries.
const TOLERATED_LOSS: f64 = 0.001;

/// Minimum share of a fixed load that must be served.
const MIN_SERVED: f64 = 0.9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Queries per second, the same for all.
    Fixed(u32),
    /// As fast as answers arrive.
    Saturation,
}

impl Load {
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Saturation => "saturation",
        }
    }

    /// Whether dnsperf reached the intended rate.
    pub fn is_served_by(self, queries_per_second: f64) -> bool {
        match self {
            Self::Fixed(rate) => queries_per_second >= f64::from(rate) * MIN_SERVED,
            Self::Saturation => true,
        }
    }

    /// Maximum number of queries in this time, including the prober's.
    pub fn at_most(self, duration: Duration) -> u64 {
        let rate = match self {
            Self::Fixed(rate) => u64::from(rate),
            Self::Saturation => MAX_RATE,
        };
        // One second more, for queries that dnsperf sends beyond its time.
        (rate + prober::RATE) * (duration.as_secs() + 1)
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

/// A client of a server, running dnsperf.
#[derive(Clone, Copy)]
pub struct Client {
    pub server: SocketAddr,
    pub transport: Transport,
    /// Maximum number of outstanding queries.
    pub outstanding: u32,
}

impl Client {
    /// Sends each query of the warm-up once.
    pub fn warm_up(&self, turn: &Turn) -> Result<()> {
        if turn.warm_up.is_empty() {
            return Ok(());
        }
        let mut perf = self.dnsperf(&turn.warm_up, WARM_UP);
        perf.args.extend(["-n".into(), "1".into()]);
        checked(perf.run()?, &(0.0..=1.0)).map(|_| ())
    }

    /// Repeats the questions for the duration. `denied` is the required share of NXDOMAIN.
    pub fn run(
        &self,
        turn: &Turn,
        load: Load,
        duration: Duration,
        denied: &RangeInclusive<f64>,
    ) -> Result<Summary> {
        let mut perf = self.dnsperf(&turn.questions, duration);
        if let Load::Fixed(rate) = load {
            perf.rate = Some(rate);
        }
        checked(perf.run()?, denied)
    }

    fn dnsperf(&self, questions: &str, duration: Duration) -> dnsperf::Load {
        let mut perf = dnsperf::Load::new(self.server, questions);
        perf.duration = duration;
        perf.transport = self.transport;
        perf.clients = CLIENTS;
        perf.cpu = Some(CLIENT_CPU);
        // Lost queries are counted, not waited for.
        perf.args = ["-t", "1", "-q", &self.outstanding.to_string()].map(str::to_owned).to_vec();
        perf
    }
}

fn checked(summary: Summary, denied: &RangeInclusive<f64>) -> Result<Summary> {
    if summary.completed == 0 || summary.lost as f64 > summary.sent as f64 * TOLERATED_LOSS {
        return Err(Error::new(format!("lost {} of {} queries", summary.lost, summary.sent)));
    }
    // Other answers would mean that the servers do different work.
    let count = |rcode: &str| summary.rcodes.get(rcode).copied().unwrap_or_default() as f64;
    let (answers, denials) = (count("NOERROR"), count("NXDOMAIN"));
    let answered = summary.completed as f64;
    if answers + denials < answered || !denied.contains(&(denials / answered)) {
        return Err(Error::new(format!("answered {:?}", summary.rcodes)));
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_load_must_be_served() {
        for (load, rate, served) in [
            (Load::Fixed(1000), 1000.0, true),
            (Load::Fixed(1000), 901.0, true),
            (Load::Fixed(1000), 899.0, false),
            (Load::Saturation, 1.0, true),
        ] {
            assert_eq!(load.is_served_by(rate), served, "{load}, {rate}");
        }
    }

    #[test]
    fn unexpected_rcodes_are_errors() {
        let summary = |noerror: u64, nxdomain: u64, servfail: u64| Summary {
            sent: 1000,
            completed: noerror + nxdomain + servfail,
            rcodes: [("NOERROR", noerror), ("NXDOMAIN", nxdomain), ("SERVFAIL", servfail)]
                .map(|(rcode, count)| (rcode.to_owned(), count))
                .into(),
            ..Summary::default()
        };
        let (none, most) = (0.0..=0.0, 0.7..=0.8);
        for (summary, denied, fits) in [
            (summary(1000, 0, 0), &none, true),
            (summary(250, 750, 0), &most, true),
            (summary(999, 1, 0), &none, false),
            (summary(1000, 0, 0), &most, false),
            (summary(249, 750, 1), &most, false),
            (Summary { lost: 1, ..summary(999, 0, 0) }, &none, true),
            (Summary { lost: 2, ..summary(998, 0, 0) }, &none, false),
            (summary(0, 0, 0), &none, false),
        ] {
            assert_eq!(checked(summary.clone(), denied).is_ok(), fits, "{summary:?}");
        }
    }
}
