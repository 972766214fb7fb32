//! A DNS server under test, CoreDNS or Rhumb, started from a Corefile.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::{self, Transport};
use crate::error::{Context, Error, Result};
use crate::network::Host;
use crate::peers::Peer;
use crate::process::Process;
use crate::{ports, rhumb};

/// Start-up time limit. Generous: tests share their machine with builds.
const START_TIMEOUT: Duration = Duration::from_secs(30);

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

/// A running server, terminated when dropped. It runs in its own folder, which has its Corefile.
pub struct DnsServer {
    // Dropped before the folder, so that the server has ended when its files are removed.
    process: Process,
    folder: TempDir,
    addr: SocketAddr,
    kind: Kind,
}

impl DnsServer {
    /// Starts a server on `port` of 127.0.0.1, which `corefile` must name, and waits until it answers over
    /// UDP and TCP. The error has its output if it does not.
    pub fn start(kind: Kind, corefile: &str, port: u16) -> Result<Self> {
        Self::start_with_files(kind, corefile, port, &[])
    }

    /// The same on a free port, which replaces each `{port}` in the Corefile.
    pub fn start_on_free_port(kind: Kind, corefile: &str) -> Result<Self> {
        let port = ports::free()?;
        Self::start(kind, &corefile.replace("{port}", &port.to_string()), port)
    }

    /// The same with further files (name, text) beside the Corefile, such as zones.
    pub fn start_with_files(kind: Kind, corefile: &str, port: u16, files: &[(&str, &str)]) -> Result<Self> {
        Self::start_at(&Host::default(), kind, corefile, port, files)
    }

    /// The same on the loopback of another network namespace, which the caller must have entered.
    pub fn start_at(
        host: &Host,
        kind: Kind,
        corefile: &str,
        port: u16,
        files: &[(&str, &str)],
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for (name, text) in files.iter().chain(&[("Corefile", corefile)]) {
            std::fs::write(folder.path().join(name), text).context(name)?;
        }
        let mut command = host.command(kind.binary()?);
        command.args(["-conf", "Corefile"]).current_dir(folder.path());
        let process = Process::start(kind.name(), command)?;
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = Self { process, folder, addr, kind };
        server.wait_until_answering()?;
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

    /// Its working directory, with its Corefile.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until its `ready` plugin, which must listen on `port`, answers 200.
    pub fn wait_until_ready(&self, port: u16) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let why_not = match get(port, "/ready") {
                Ok(answer) if answer.split(' ').nth(1) == Some("200") => return Ok(()),
                Ok(answer) => answer,
                Err(e) => e.to_string(),
            };
            if self.process.exit_status().is_some() || Instant::now() >= deadline {
                return Err(self.failed(&format!("did not become ready ({why_not})")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn wait_until_answering(&self) -> Result<()> {
        // A header without a question: refused before any plugin sees it, so it leaves no trace in logs,
        // metrics and caches, and is answered whatever the Corefile is.
        let probe = [0x52, 0x48, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let deadline = Instant::now() + START_TIMEOUT;
        for transport in [Transport::Udp, Transport::Tcp] {
            loop {
                if let Some(status) = self.process.exit_status() {
                    // Lets the reader threads take in its last output.
                    let _ = self.process.wait(Duration::from_secs(1));
                    return Err(self.failed(&format!("exited during start ({status})")));
                }
                let outcome = client::query(self.addr, transport, &probe, Duration::from_millis(500))?;
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

/// Sends an HTTP GET to a port of 127.0.0.1 and returns head and body of the response.
pub fn get(port: u16, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context(format!("port {port}"))?;
    stream.set_read_timeout(Some(START_TIMEOUT))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
