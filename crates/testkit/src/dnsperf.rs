//! Runs dnsperf (a Debian package) and reads its summary.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use crate::client::Transport;
use crate::error::{Context, Error, Result};
use crate::process::Process;

/// A load on one server; only loopback addresses are allowed.
#[derive(Clone, Debug)]
pub struct Load {
    pub server: SocketAddr,
    /// Lines of `name type`, sent repeatedly.
    pub queries: String,
    pub duration: Duration,
    /// Queries per second; none: no limit.
    pub rate: Option<u32>,
    pub transport: Transport,
    /// Number of client sockets.
    pub clients: u32,
    pub threads: u32,
    /// The CPU dnsperf is pinned to, when it must not share the server's.
    pub cpu: Option<usize>,
    /// Further arguments, such as `-e` for EDNS or `-q N` for the number of outstanding queries.
    pub args: Vec<String>,
}

/// The summary that dnsperf prints at its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub sent: u64,
    pub completed: u64,
    pub lost: u64,
    pub queries_per_second: f64,
    pub seconds: f64,
    pub latency: Latency,
    pub rcodes: BTreeMap<String, u64>,
}

/// In seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    pub average: f64,
    pub min: f64,
    pub max: f64,
    pub stddev: f64,
}

impl Load {
    pub fn new(server: SocketAddr, queries: impl Into<String>) -> Self {
        Self {
            server,
            queries: queries.into(),
            duration: Duration::from_secs(5),
            rate: None,
            transport: Transport::Udp,
            clients: 1,
            threads: 1,
            cpu: None,
            args: Vec::new(),
        }
    }

    /// Runs it to its end, which is bounded by its duration.
    pub fn run(&self) -> Result<Summary> {
        if !self.server.ip().is_loopback() {
            return Err(Error::new(format!("{} is not on loopback", self.server)));
        }
        let mut queries = tempfile::NamedTempFile::new()?;
        queries.write_all(self.queries.as_bytes())?;
        queries.flush()?;
        let mut command = match self.cpu {
            Some(cpu) => {
                let mut command = Command::new("taskset");
                command.args(["-c", &cpu.to_string(), "dnsperf"]);
                command
            }
            None => Command::new("dnsperf"),
        };
        command.arg("-d").arg(queries.path());
        command.args(["-s", &self.server.ip().to_string(), "-p", &self.server.port().to_string()]);
        command.args(["-l", &self.duration.as_secs().max(1).to_string()]);
        command.args(["-c", &self.clients.to_string(), "-T", &self.threads.to_string()]);
        if let Some(rate) = self.rate {
            command.args(["-Q", &rate.to_string()]);
        }
        if self.transport == Transport::Tcp {
            command.args(["-m", "tcp"]);
        }
        command.args(&self.args);
        let dnsperf = Process::start("dnsperf", command).context("dnsperf (apt-get install dnsperf)")?;
        // At the end it waits for late answers, by default five seconds.
        let status = dnsperf.wait(self.duration + Duration::from_secs(30))?;
        if !status.success() {
            return Err(Error::new(format!("dnsperf failed ({status}):\n{}", dnsperf.output())));
        }
        Summary::parse(&dnsperf.output())
    }
}

impl Summary {
    /// Reads the summary out of dnsperf's output. Every part must be there.
    pub fn parse(output: &str) -> Result<Self> {
        let missing = |what: &str| Error::new(format!("dnsperf's output lacks {what}:\n{output}"));
        let field = |label: &str| {
            let value = output.lines().find_map(|l| l.trim_start().strip_prefix(label)?.strip_prefix(':'));
            value.map(str::trim).ok_or_else(|| missing(label))
        };
        // `400 (100.00%)`: the share follows from the numbers.
        let number = |label: &str| {
            let first = field(label)?.split_whitespace().next();
            first.and_then(|n| n.parse::<f64>().ok()).ok_or_else(|| missing(label))
        };
        // `0.000708 (min 0.000054, max 0.017783)`
        let extreme = |word: &str| {
            let text = field("Average Latency (s)")?;
            let after = text.split(['(', ',', ')']).find_map(|part| part.trim().strip_prefix(word));
            after.and_then(|n| n.trim().parse().ok()).ok_or_else(|| missing(word))
        };
        // `NOERROR 300 (75.00%), NXDOMAIN 100 (25.00%)`; dnsperf omits the line when nothing was answered.
        let mut rcodes = BTreeMap::new();
        for part in field("Response codes").unwrap_or_default().split(',').filter(|p| !p.trim().is_empty()) {
            let mut words = part.split_whitespace();
            let (Some(rcode), Some(Ok(n))) = (words.next(), words.next().map(str::parse)) else {
                return Err(missing("Response codes"));
            };
            rcodes.insert(rcode.to_owned(), n);
        }
        Ok(Self {
            sent: number("Queries sent")? as u64,
            completed: number("Queries completed")? as u64,
            lost: number("Queries lost")? as u64,
            queries_per_second: number("Queries per second")?,
            seconds: number("Run time (s)")?,
            latency: Latency {
                average: number("Average Latency (s)")?,
                min: extreme("min")?,
                max: extreme("max")?,
                stddev: number("Latency StdDev (s)").unwrap_or_default(),
            },
            rcodes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "DNS Performance Testing Tool
Version 2.10.0

[Status] Command line: dnsperf -s 127.0.0.1 -p 15353 -d q -l 2 -Q 200 -c 2
[Status] Sending queries (to 127.0.0.1:15353)
[Status] Testing complete (time limit)

Statistics:

  Queries sent:         401
  Queries completed:    400 (99.75%)
  Queries lost:         1 (0.25%)

  Response codes:       NOERROR 300 (75.00%), NXDOMAIN 100 (25.00%)
  Average packet size:  request 25, response 68
  Run time (s):         2.000318
  Queries per second:   199.968205

  Average Latency (s):  0.000708 (min 0.000054, max 0.017783)
  Latency StdDev (s):   0.002061
";

    #[test]
    fn summary() {
        assert_eq!(
            Summary::parse(OUTPUT).unwrap(),
            Summary {
                sent: 401,
                completed: 400,
                lost: 1,
                queries_per_second: 199.968205,
                seconds: 2.000318,
                latency: Latency { average: 0.000708, min: 0.000054, max: 0.017783, stddev: 0.002061 },
                rcodes: [("NOERROR".into(), 300), ("NXDOMAIN".into(), 100)].into(),
            }
        );
    }

    #[test]
    fn error_names_the_missing_field() {
        for label in ["Queries sent", "Queries completed", "Queries lost", "Queries per second", "Run time"] {
            let e = Summary::parse(&OUTPUT.replace(label, "x")).unwrap_err().to_string();
            assert!(e.contains(label), "{e}");
        }
        let nothing = OUTPUT.lines().filter(|l| !l.contains("Response codes")).collect::<Vec<_>>().join("\n");
        assert!(Summary::parse(&nothing).unwrap().rcodes.is_empty());
    }

    #[test]
    fn only_loopback_is_allowed() {
        let e = Load::new("192.0.2.1:53".parse().unwrap(), "a A\n").run().unwrap_err();
        assert!(e.to_string().contains("not on loopback"), "{e}");
    }
}
