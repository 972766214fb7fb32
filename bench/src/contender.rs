//! A server under measurement, alone on its processor.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::client::{self, Transport};
use testkit::error::{Context, Error, Result};
use testkit::message::Message;
use testkit::name::Name;
use testkit::peers::Peer;
use testkit::process::Process;
use testkit::{ports, rhumb};

use crate::workload::Workload;

/// Where servers run; dnsperf has the other one.
pub const SERVER_CPU: usize = 0;

const START: Duration = Duration::from_secs(30);

/// How many of the questions all servers must answer alike before anything is measured.
const COMPARED: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// recvmmsg, set QR, sendmmsg: what the kernel costs. It answers nothing.
    Echo,
    Rhumb,
    CoreDns,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Rhumb => "rhumb",
            Self::CoreDns => "coredns",
        }
    }

    pub fn binary(self) -> Result<PathBuf> {
        match self {
            Self::Echo => {
                let path = std::env::var_os("RHUMB_ECHO").map(PathBuf::from).ok_or_else(|| {
                    Error::new("RHUMB_ECHO is not set (cargo build --release -p net --example echo)")
                })?;
                if path.is_file() {
                    Ok(path)
                } else {
                    Err(Error::new(format!("RHUMB_ECHO={} is not a file", path.display())))
                }
            }
            Self::Rhumb => rhumb::binary(),
            Self::CoreDns => {
                Peer::CoreDns.find().ok_or_else(|| Error::new("not built (peers/build coredns)"))
            }
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
    pub fn start(kind: Kind, workload: &Workload) -> Result<Self> {
        let addr = ports::free_addr()?;
        let folder = tempfile::tempdir()?;
        let mut command = Command::new("taskset");
        command.args(["-c", &SERVER_CPU.to_string()]).arg(kind.binary()?).current_dir(folder.path());
        if kind == Kind::Echo {
            command.arg(addr.to_string());
        } else {
            let mut corefile = workload.corefile.replace("{port}", &addr.port().to_string());
            for place in ["{health}", "{ready}"] {
                corefile = corefile.replace(place, &ports::free()?.to_string());
            }
            std::fs::write(folder.path().join("Corefile"), corefile)?;
            std::fs::write(folder.path().join("hosts"), &workload.hosts)?;
            command.args(["-conf", "Corefile"]);
        }
        let process = Process::start(kind.name(), command)?;
        let contender = Self { kind, addr, process, _folder: folder };
        contender.wait_until_it_answers(workload)?;
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

    fn wait_until_it_answers(&self, workload: &Workload) -> Result<()> {
        let deadline = Instant::now() + START;
        let first = workload.questions.lines().next().unwrap_or_default();
        while self.ask(first)?.is_none() {
            if self.process.exit_status().is_some() || Instant::now() >= deadline {
                return Err(Error::new(format!("does not answer; its output:\n{}", self.process.output())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Asks one line of the question file.
    fn ask(&self, line: &str) -> Result<Option<Message>> {
        let query = packet(line).context(line)?;
        let outcome = client::ask(self.addr, Transport::Udp, &query, Duration::from_millis(500))?;
        Ok(outcome.reply().map(Message::decode))
    }
}

/// A plain query without EDNS, as dnsperf sends them.
fn packet(line: &str) -> Result<Vec<u8>> {
    let (name, kind) = line.split_once(' ').ok_or_else(|| Error::new("not a question"))?;
    let name = Name::parse(name).map_err(|error| Error::new(error.to_string()))?;
    let kind: u16 = match kind {
        "A" => 1,
        "PTR" => 12,
        "TXT" => 16,
        "AAAA" => 28,
        other => return Err(Error::new(format!("type {other}"))),
    };
    let mut packet = vec![0x52, 0x48, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    packet.extend_from_slice(name.wire());
    packet.extend_from_slice(&kind.to_be_bytes());
    packet.extend_from_slice(&[0, 1]);
    Ok(packet)
}

/// A server that answers wrongly is not fast: those that answer at all must answer alike.
pub fn agree(contenders: &[Contender], workload: &Workload) -> Result<()> {
    let answering: Vec<&Contender> = contenders.iter().filter(|c| c.kind != Kind::Echo).collect();
    for line in workload.questions.lines().take(COMPARED) {
        let mut answers = Vec::new();
        for contender in &answering {
            let message = contender
                .ask(line)?
                .ok_or_else(|| Error::new(format!("{} does not answer {line}", contender.kind.name())))?;
            // Name and type follow from the question, the time to live counts down nowhere here.
            let records: Vec<_> = message.answer.iter().map(|r| (r.rtype, r.ttl, r.rdata.clone())).collect();
            answers.push((contender.kind.name(), message.rcode(), records));
        }
        if let [(left, rcode, records), (right, other_rcode, other)] = answers.as_slice()
            && (rcode, records) != (other_rcode, other)
        {
            return Err(Error::new(format!(
                "{line}: {left} answers {rcode} {records:02x?}, {right} {other_rcode} {other:02x?}"
            )));
        }
    }
    Ok(())
}
