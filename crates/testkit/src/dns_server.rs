//! A DNS server under test, CoreDNS or Rhumb: both are started by the same words and asked the same way.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::{self, Transport};
use crate::error::{Context, Error, Result};
use crate::network::Place;
use crate::peers::Peer;
use crate::process::Process;
use crate::{ports, rhumb};

/// How long a server may take until it answers. Generous: tests share their machine with builds.
const START: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    CoreDns,
    Rhumb,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::CoreDns => "coredns",
            Self::Rhumb => "rhumb",
        }
    }

    fn binary(self) -> Result<PathBuf> {
        match self {
            Self::CoreDns => Peer::CoreDns.locate(),
            Self::Rhumb => rhumb::binary(),
        }
    }
}

/// A running server, ended when dropped. It runs in a folder of its own that holds its Corefile.
pub struct DnsServer {
    // Before the folder, so that the server is gone when its files go.
    process: Process,
    folder: TempDir,
    addr: SocketAddr,
    kind: Kind,
}

impl DnsServer {
    /// Starts a server that will listen on `port` of 127.0.0.1, as `corefile` must say, and waits until it
    /// answers over UDP and TCP. The error holds its output when it does not.
    pub fn start(kind: Kind, corefile: &str, port: u16) -> Result<Self> {
        Self::start_with_files(kind, corefile, port, &[])
    }

    /// The same on a free port, which replaces each `{port}` in the Corefile.
    pub fn start_anywhere(kind: Kind, corefile: &str) -> Result<Self> {
        let port = ports::free()?;
        Self::start(kind, &corefile.replace("{port}", &port.to_string()), port)
    }

    /// The same with further files (name, text) beside the Corefile, such as zones.
    pub fn start_with_files(kind: Kind, corefile: &str, port: u16, files: &[(&str, &str)]) -> Result<Self> {
        Self::start_at(&Place::default(), kind, corefile, port, files)
    }

    /// The same on the loopback of another network, which the caller must have entered.
    pub fn start_at(
        place: &Place,
        kind: Kind,
        corefile: &str,
        port: u16,
        files: &[(&str, &str)],
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for (name, text) in files.iter().chain(&[("Corefile", corefile)]) {
            std::fs::write(folder.path().join(name), text).context(name)?;
        }
        let mut command = place.command(kind.binary()?);
        command.args(["-conf", "Corefile"]).current_dir(folder.path());
        let process = Process::start(kind.name(), command)?;
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = Self { process, folder, addr, kind };
        server.wait_until_it_answers()?;
        Ok(server)
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Everything it has printed so far.
    pub fn output(&self) -> String {
        self.process.output()
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Where its Corefile is, and relative paths in it begin.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until its `ready` plugin, which must listen on `port`, says so.
    pub fn wait_until_ready(&self, port: u16) -> Result<()> {
        let deadline = Instant::now() + START;
        loop {
            let why_not = match get(port, "/ready") {
                Ok(answer) if answer.split(' ').nth(1) == Some("200") => return Ok(()),
                Ok(answer) => answer,
                Err(e) => e.to_string(),
            };
            if self.process.exit_status().is_some() || Instant::now() >= deadline {
                return Err(self.failed(&format!("does not get ready ({why_not})")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn wait_until_it_answers(&self) -> Result<()> {
        // A header without a question: refused before any plugin sees it, so it leaves no trace in logs,
        // metrics and caches, and is answered whatever the Corefile says.
        let probe = [0x52, 0x48, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let deadline = Instant::now() + START;
        for transport in [Transport::Udp, Transport::Tcp] {
            loop {
                if let Some(status) = self.process.exit_status() {
                    // Its last words may still be on the way.
                    let _ = self.process.wait(Duration::from_secs(1));
                    return Err(self.failed(&format!("ended at once ({status})")));
                }
                let outcome = client::ask(self.addr, transport, &probe, Duration::from_millis(500))?;
                if outcome.reply().is_some() {
                    break;
                }
                if Instant::now() >= deadline {
                    return Err(self.failed(&format!("does not answer on {} over {transport:?}", self.addr)));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    fn failed(&self, how: &str) -> Error {
        Error::new(format!("{} {how}; its output:\n{}", self.kind.name(), self.output()))
    }
}

/// One HTTP request to a port of 127.0.0.1; head and body of what was answered.
pub fn get(port: u16, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context(format!("port {port}"))?;
    stream.set_read_timeout(Some(START))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
