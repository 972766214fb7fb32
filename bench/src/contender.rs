//! A server under measurement, alone on its processor. How each one is set up is in a file of its own.

mod corefile;
mod echo;
mod knot;
mod log_lines;
mod nsd;
mod package;
mod place;
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
use place::Place;

/// Long enough for a large cluster to be listed on a busy machine.
const START: Duration = Duration::from_secs(60);

/// How long one answer may take; generous, since the machine may be busy when nothing is measured yet.
const ANSWER: Duration = Duration::from_secs(2);

const SERVFAIL: u16 = 2;

const BEFORE: &str = "RHUMB_BEFORE";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// recvmmsg, set QR, sendmmsg: what the kernel costs. It answers nothing.
    Echo,
    Rhumb,
    /// Rhumb as it was, to see what a change does: the binary that RHUMB_BEFORE names. Left out without it.
    Before,
    CoreDns,
    Unbound,
    Knot,
    Nsd,
}

impl Kind {
    /// Whether this run has it at all.
    pub fn is_here(self) -> bool {
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

    /// As it says itself; the echo has none.
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

    /// Writes its files and gives its arguments.
    fn prepare(self, workload: &Workload, place: &Place) -> Result<Vec<String>> {
        match self {
            Self::Echo => Ok(echo::arguments(place)),
            Self::Rhumb | Self::Before | Self::CoreDns => corefile::prepare(workload, place),
            Self::Unbound => unbound::prepare(workload, place),
            Self::Knot => knot::prepare(workload, place),
            Self::Nsd => nsd::prepare(workload, place),
        }
    }
}

pub struct Contender {
    kind: Kind,
    addr: SocketAddr,
    transport: Transport,
    metrics: SocketAddr,
    process: Process,
    // After the process, so that it is gone when its files go.
    _folder: TempDir,
}

impl Contender {
    /// Starts it and waits until it answers the first and the last question of `turn`.
    pub fn start(kind: Kind, workload: &Workload, upstream: SocketAddr, turn: &Turn) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let place = Place {
            folder: folder.path(),
            addr: ports::free_addr()?,
            metrics: ports::free_addr()?,
            upstream,
        };
        let mut command = Command::new("taskset");
        command.args(["-c", &SERVER_CPU.to_string()]).args(silent(workload));
        command.arg(kind.binary()?).args(kind.prepare(workload, &place)?).current_dir(place.folder);
        let (addr, metrics, transport) = (place.addr, place.metrics, workload.transport);
        let process = Process::start(kind.name(), command)?;
        let contender = Self { kind, addr, transport, metrics, process, _folder: folder };
        turn.probes().try_for_each(|probe| contender.wait_until_it_answers(probe))?;
        Ok(contender)
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Log lines that it left out since its start.
    pub fn log_lines_left_out(&self) -> Result<u64> {
        if self.kind == Kind::Rhumb { log_lines::left_out(self.metrics) } else { Ok(0) }
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    /// A server that has not listed its cluster yet knows of no denial: it says SERVFAIL.
    fn wait_until_it_answers(&self, probe: &str) -> Result<()> {
        let deadline = Instant::now() + START;
        while self.ask(probe)?.is_none_or(|reply| Message::decode(&reply).rcode() == SERVFAIL) {
            if self.process.exit_status().is_some() || Instant::now() >= deadline {
                let output = self.process.output();
                return Err(Error::new(format!("does not answer {probe}; its output:\n{output}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Asks one line of a question file.
    pub fn ask(&self, line: &str) -> Result<Option<Vec<u8>>> {
        let query = question::packet(line)?;
        let outcome = client::ask(self.addr, self.transport, &query, ANSWER)?;
        Ok(outcome.reply().map(<[u8]>::to_vec))
    }
}

/// What stands before a command whose query log nobody reads; it becomes that command.
fn silent(workload: &Workload) -> &'static [&'static str] {
    if workload.logs { &["sh", "-c", "exec \"$@\" >/dev/null", "sh"] } else { &[] }
}
