//! A server under measurement, alone on its CPU. Each kind is set up in its own file.

mod corefile;
mod echo;
mod instance;
mod knot;
mod log_lines;
mod nsd;
mod package;
mod unbound;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::client::{self, Transport};
use testkit::error::{Error, Result};
use testkit::message::Message;
use testkit::peers::Peer;
use testkit::process::Process;
use testkit::{ports, rhumb};

use crate::question;
use crate::workload::{Turn, Workload};
use bench::machine::{SERVER_CPU, first_line};
use instance::Instance;

/// Start-up time limit: long enough to list a large cluster on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Query timeout outside measurements; generous, since the machine may be busy.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

const SERVFAIL: u16 = 2;

const BEFORE: &str = "RHUMB_BEFORE";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// recvmmsg, set QR, sendmmsg: the cost of the kernel. Its replies have no answers.
    Echo,
    Rhumb,
    /// An older Rhumb, to measure a change: the binary that RHUMB_BEFORE names. Left out without it.
    Before,
    CoreDns,
    Unbound,
    Knot,
    Nsd,
}

impl Kind {
    /// Whether this run includes it.
    pub fn is_included(self) -> bool {
        self != Self::Before || std::env::var_os(BEFORE).is_some()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Rhumb => "rhumb",
            Self::Before => "before",
            Self::CoreDns => "coredns",
            Self::Unbound => "unbound",
            Self::Knot => "knot",
            Self::Nsd => "nsd",
        }
    }

    fn binary(self) -> Result<PathBuf> {
        match self {
            Self::Echo => echo::binary(),
            Self::Rhumb => rhumb::binary(),
            Self::Before => std::env::var_os(BEFORE)
                .map(PathBuf::from)
                .ok_or_else(|| Error::new("RHUMB_BEFORE is not set")),
            Self::CoreDns => {
                Peer::CoreDns.find().ok_or_else(|| Error::new("not built (peers/build coredns)"))
            }
            Self::Unbound => package::binary("unbound", "unbound", "RHUMB_UNBOUND"),
            Self::Knot => package::binary("knotd", "knot", "RHUMB_KNOT"),
            Self::Nsd => package::binary("nsd", "nsd", "RHUMB_NSD"),
        }
    }

    /// As printed by the binary; the echo has none.
    pub fn version(self) -> Option<String> {
        let argument = match self {
            Self::Echo => return None,
            Self::Rhumb | Self::Before | Self::CoreDns => "-version",
            Self::Unbound | Self::Knot => "-V",
            Self::Nsd => "-v",
        };
        Some(match self.binary() {
            Ok(path) => first_line(Command::new(path).arg(argument)),
            Err(error) => error.to_string(),
        })
    }

    /// Writes its files and returns its arguments.
    fn prepare(self, workload: &Workload, instance: &Instance) -> Result<Vec<String>> {
        match self {
            Self::Echo => Ok(echo::arguments(instance)),
            Self::Rhumb | Self::Before | Self::CoreDns => corefile::prepare(workload, instance),
            Self::Unbound => unbound::prepare(workload, instance),
            Self::Knot => knot::prepare(workload, instance),
            Self::Nsd => nsd::prepare(workload, instance),
        }
    }
}

pub struct Contender {
    kind: Kind,
    addr: SocketAddr,
    transport: Transport,
    metrics: SocketAddr,
    process: Process,
    // Dropped after the process, so that it has ended when its files are removed.
    _folder: TempDir,
}

impl Contender {
    /// Starts it and waits until it answers the first and the last question of `turn`.
    pub fn start(kind: Kind, workload: &Workload, upstream: SocketAddr, turn: &Turn) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let instance = Instance {
            folder: folder.path(),
            addr: ports::free_addr()?,
            metrics: ports::free_addr()?,
            upstream,
        };
        let mut command = Command::new("taskset");
        command.args(["-c", &SERVER_CPU.to_string()]).args(discard_output(workload));
        command.arg(kind.binary()?).args(kind.prepare(workload, &instance)?).current_dir(instance.folder);
        let (addr, metrics, transport) = (instance.addr, instance.metrics, workload.transport);
        let process = Process::start(kind.name(), command)?;
        let contender = Self { kind, addr, transport, metrics, process, _folder: folder };
        turn.probes().try_for_each(|probe| contender.wait_until_answering(probe))?;
        Ok(contender)
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Log lines that it dropped since its start.
    pub fn dropped_log_lines(&self) -> Result<u64> {
        if self.kind == Kind::Rhumb { log_lines::dropped(self.metrics) } else { Ok(0) }
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    /// A server that has not listed its cluster yet answers SERVFAIL instead of a denial.
    fn wait_until_answering(&self, probe: &str) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while self.query(probe)?.is_none_or(|reply| Message::decode(&reply).rcode() == SERVFAIL) {
            if self.process.exit_status().is_some() || Instant::now() >= deadline {
                let output = self.process.output();
                return Err(Error::new(format!("does not answer {probe}; its output:\n{output}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Sends the query of one line of a question file.
    pub fn query(&self, line: &str) -> Result<Option<Vec<u8>>> {
        let query = question::packet(line)?;
        let outcome = client::query(self.addr, self.transport, &query, QUERY_TIMEOUT)?;
        Ok(outcome.reply().map(<[u8]>::to_vec))
    }
}

/// A command prefix that discards the query log and execs the command.
fn discard_output(workload: &Workload) -> &'static [&'static str] {
    if workload.logs { &["sh", "-c", "exec \"$@\" >/dev/null", "sh"] } else { &[] }
}
