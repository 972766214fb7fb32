//! One measurement: a load for some seconds, and what the server spent on it.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use testkit::dnsperf::{self, Summary};
use testkit::error::{Context, Error, Result};

use crate::contender::Contender;
use crate::upstream::Upstream;
use crate::workload::{NONE_DENIED, Turn, Workload};
use bench::machine::CLIENT_CPU;

/// Client sockets: enough that several workers would all get some, since SO_REUSEPORT spreads by address.
const CLIENTS: u32 = 16;

/// Longer than any warm-up takes.
const WARM_UP: Duration = Duration::from_secs(20);

/// Queries per second that no forwarder reaches on one processor.
const MOST: u64 = 100_000;

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

    /// How many queries are sent in this time, at the most.
    pub fn at_most(self, duration: Duration) -> u64 {
        let rate = match self {
            Self::Fixed(rate) => u64::from(rate),
            Self::Saturation => MOST,
        };
        // One second more, for what dnsperf sends beyond its time.
        rate * (duration.as_secs() + 1)
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
    /// Queries that reached the upstream for each one that was answered.
    pub forwarded: f64,
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

/// How the servers of one workload are measured.
pub struct Meter<'a> {
    pub workload: &'a Workload,
    pub upstream: &'a Upstream,
    pub duration: Duration,
}

impl Meter<'_> {
    pub fn turn(&self, number: u32, load: Load) -> Turn {
        (self.workload.turn)(number, load.at_most(self.duration))
    }

    /// Asks a server what the turn asks, and says what it spent on it.
    pub fn sample(&self, contender: &Contender, turn: &Turn, load: Load) -> Result<Sample> {
        let name = contender.kind().name();
        warm_up(contender.addr(), turn).context(name)?;
        let process = contender.process();
        let (before, asked) = (process.cpu_times()?, self.upstream.asked());
        let denied = &self.workload.denied;
        let summary = ask(contender.addr(), turn, load, self.duration, denied).context(name)?;
        let (after, asked) = (process.cpu_times()?, self.upstream.asked() - asked);
        let per_query = |spent: Duration| spent.as_secs_f64() * 1e6 / summary.completed as f64;
        let forwarded = asked as f64 / summary.completed as f64;
        if let Some(wanted) = &self.workload.forwarded
            && !wanted.contains(&forwarded)
        {
            return Err(Error::new(format!(
                "{name} asked the upstream {forwarded:.4} times per query, not {wanted:?} times"
            )));
        }
        Ok(Sample {
            user: per_query(after.0.saturating_sub(before.0)),
            system: per_query(after.1.saturating_sub(before.1)),
            queries_per_second: summary.queries_per_second,
            latency: summary.latency.average * 1e6,
            lost: summary.lost,
            rss: process.rss()?,
            forwarded,
        })
    }
}

/// Asks each question of the warm-up once.
fn warm_up(server: SocketAddr, turn: &Turn) -> Result<()> {
    if turn.warm_up.is_empty() {
        return Ok(());
    }
    let mut perf = dnsperf(server, &turn.warm_up, WARM_UP);
    perf.args.extend(["-n".into(), "1".into()]);
    checked(perf.run()?, &NONE_DENIED).map(|_| ())
}

/// Asks the questions over and over until the time is up. This share of them must be denied.
pub fn ask(
    server: SocketAddr,
    turn: &Turn,
    load: Load,
    duration: Duration,
    denied: &RangeInclusive<f64>,
) -> Result<Summary> {
    let mut perf = dnsperf(server, &turn.questions, duration);
    if let Load::Fixed(rate) = load {
        perf.rate = Some(rate);
    }
    checked(perf.run()?, denied)
}

fn dnsperf(server: SocketAddr, questions: &str, duration: Duration) -> dnsperf::Load {
    let mut perf = dnsperf::Load::new(server, questions);
    perf.duration = duration;
    perf.clients = CLIENTS;
    perf.cpu = Some(CLIENT_CPU);
    // A lost query is not waited for; it is counted.
    perf.args = vec!["-t".into(), "1".into()];
    perf
}

fn checked(summary: Summary, denied: &RangeInclusive<f64>) -> Result<Summary> {
    if summary.completed == 0 || summary.lost as f64 > summary.sent as f64 * TOLERATED_LOSS {
        return Err(Error::new(format!("lost {} of {} queries", summary.lost, summary.sent)));
    }
    // Anything but the answers that belong to the questions means that the servers do not do the same work.
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
    fn only_the_answers_that_belong_to_the_questions_count() {
        let summary = |noerror: u64, nxdomain: u64, servfail: u64| Summary {
            sent: 100,
            completed: 100,
            rcodes: [("NOERROR", noerror), ("NXDOMAIN", nxdomain), ("SERVFAIL", servfail)]
                .map(|(rcode, count)| (rcode.to_owned(), count))
                .into(),
            ..Summary::default()
        };
        let (none, most) = (0.0..=0.0, 0.7..=0.8);
        assert!(checked(summary(100, 0, 0), &none).is_ok());
        assert!(checked(summary(25, 75, 0), &most).is_ok());
        assert!(checked(summary(99, 1, 0), &none).is_err());
        assert!(checked(summary(100, 0, 0), &most).is_err());
        assert!(checked(summary(24, 75, 1), &most).is_err());
        assert!(checked(Summary { lost: 2, ..summary(100, 0, 0) }, &none).is_err());
    }
}
