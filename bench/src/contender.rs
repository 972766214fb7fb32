//! A server under measurement, alone on its processor. How each one is set up is in a file of its own.

mod corefile;
mod echo;
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
use crate::workload::Workload;
use bench::machine::{SERVER_CPU, first_line};
use place::Place;

const START: Duration = Duration::from_secs(30);

/// How long one answer may take; generous, since the machine may be busy when nothing is measured yet.
const ANSWER: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// recvmmsg, set QR, sendmmsg: what the kernel costs. It answers nothing.
    Echo,
    Rhumb,
    CoreDns,
    Unbound,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Rhumb => "rhumb",
            Self::CoreDns => "coredns",
            Self::Unbound => "unbound",
        }
    }

    fn binary(self) -> Result<PathBuf> {
        match self {
            Self::Echo => echo::binary(),
            Self::Rhumb => rhumb::binary(),
            Self::CoreDns => {
                Peer::CoreDns.find().ok_or_else(|| Error::new("not built (peers/build coredns)"))
            }
            Self::Unbound => unbound::binary(),
        }
    }

    /// As it says itself; the echo has none.
    pub fn version(self) -> Option<String> {
        let argument = match self {
            Self::Echo => return None,
            Self::Rhumb | Self::CoreDns => "-version",
            Self::Unbound => "-V",
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
            Self::Rhumb | Self::CoreDns => corefile::prepare(workload, place),
            Self::Unbound => unbound::prepare(workload, place),
        }
    }
}

pub struct Contender {
    kind: Kind,
    addr: SocketAddr,
    process: Process,
    // After the process, so that it is gone when its files go.
    _folder: TempDir,
}

impl Contender {
    /// Starts it and waits until it answers the question `probe`.
    pub fn start(kind: Kind, workload: &Workload, upstream: SocketAddr, probe: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let place = Place { folder: folder.path(), addr: ports::free_addr()?, upstream };
        let mut command = Command::new("taskset");
        command.args(["-c", &SERVER_CPU.to_string()]).arg(kind.binary()?);
        command.args(kind.prepare(workload, &place)?).current_dir(place.folder);
        let addr = place.addr;
        let process = Process::start(kind.name(), command)?;
        let contender = Self { kind, addr, process, _folder: folder };
        contender.wait_until_it_answers(probe)?;
        Ok(contender)
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    fn wait_until_it_answers(&self, probe: &str) -> Result<()> {
        let deadline = Instant::now() + START;
        while self.ask(probe)?.is_none() {
            if self.process.exit_status().is_some() || Instant::now() >= deadline {
                return Err(Error::new(format!("does not answer; its output:\n{}", self.process.output())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Asks one line of a question file.
    pub fn ask(&self, line: &str) -> Result<Option<Message>> {
        let query = question::packet(line)?;
        let outcome = client::ask(self.addr, Transport::Udp, &query, ANSWER)?;
        Ok(outcome.reply().map(Message::decode))
    }
}
