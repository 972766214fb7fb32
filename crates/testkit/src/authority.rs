//! Authoritative servers, the real ones: Knot DNS and BIND, from Debian's packages.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::{self, Transport};
use crate::error::{Context, Error, Result};
use crate::message::Message;
use crate::name::Name;
use crate::ports;
use crate::process::Process;

/// Start-up time limit. Generous: tests share their machine with builds.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// A zone of which the server is a secondary, so that it accepts NOTIFY. Its primary does not exist.
pub const SECONDARY_ZONE: &str = "secondary.test.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorityKind {
    Knot,
    Bind,
}

/// A TSIG key that may transfer, update and notify.
#[derive(Clone, Copy, Debug)]
pub struct AuthorityKey<'a> {
    pub name: &'a str,
    /// Such as `hmac-sha256`.
    pub algorithm: &'a str,
    /// In base64.
    pub secret: &'a str,
}

impl AuthorityKind {
    /// The binary, or a line about its absence and `None`. With `RHUMB_PEERS_REQUIRED` set (as in CI) it fails the test
    /// instead.
    pub fn for_test(self) -> Option<PathBuf> {
        let (name, package) = match self {
            Self::Knot => ("knotd", "knot"),
            Self::Bind => ("named", "bind9"),
        };
        let found = ["/usr/sbin", "/usr/bin", "/usr/local/sbin"].map(|folder| Path::new(folder).join(name));
        let found = found.into_iter().find(|path| path.is_file());
        if found.is_none() {
            let message = format!("{name} not installed (apt-get install {package})");
            assert!(std::env::var_os("RHUMB_PEERS_REQUIRED").is_none(), "{message}");
            println!("skipped: {message}");
        }
        found
    }

    /// The configuration, and the arguments to run it in the foreground.
    fn configuration(
        self,
        port: u16,
        zone: &str,
        key: AuthorityKey<'_>,
    ) -> (String, &'static [&'static str]) {
        let AuthorityKey { name, algorithm, secret } = key;
        match self {
            Self::Knot => (
                format!(
                    "server:\n    listen: 127.0.0.1@{port}\n    rundir: .\n    pidfile: knot.pid\n    udp-workers: 1\n    \
                     tcp-workers: 1\n    background-workers: 1\n\
                     log:\n  - target: stderr\n    any: info\n\
                     database:\n    storage: .\n\
                     key:\n  - id: {name}\n    algorithm: {algorithm}\n    secret: {secret}\n\
                     acl:\n  - id: keyed\n    key: {name}\n    action: [transfer, update, notify]\n\
                     remote:\n  - id: nowhere\n    address: 127.0.0.1@1\n\
                     template:\n  - id: default\n    storage: .\n    acl: keyed\n\
                     zone:\n  - domain: {zone}\n    file: zone\n    journal-content: changes\n  \
                     - domain: {SECONDARY_ZONE}\n    master: nowhere\n"
                ),
                &["-c", "configuration"],
            ),
            Self::Bind => (
                format!(
                    "options {{ directory \".\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
                     pid-file \"named.pid\"; session-keyfile \"session.key\"; recursion no; notify no;\n\
                     dnssec-validation no; transfers-out 100; }};\n\
                     controls {{ }};\n\
                     key \"{name}\" {{ algorithm {algorithm}; secret \"{secret}\"; }};\n\
                     zone \"{zone}\" {{ type primary; file \"zone\";\n\
                     allow-transfer {{ key \"{name}\"; }}; allow-update {{ key \"{name}\"; }}; }};\n\
                     zone \"{SECONDARY_ZONE}\" {{ type secondary; primaries port 1 {{ 127.0.0.1; }};\n\
                     file \"secondary\"; allow-notify {{ key \"{name}\"; }}; }};\n"
                ),
                &["-g", "-n", "1", "-c", "configuration"],
            ),
        }
    }
}

/// A running server, terminated when dropped. It runs in its own folder.
pub struct Authority {
    // Dropped before the folder, so that the server has ended when its files are removed.
    process: Process,
    _folder: TempDir,
    addr: SocketAddr,
}

impl Authority {
    /// Starts a primary for `zone` with the zone file `text` and waits until it has loaded it.
    pub fn start(
        binary: &Path,
        kind: AuthorityKind,
        zone: &str,
        text: &str,
        key: AuthorityKey<'_>,
    ) -> Result<Self> {
        let (folder, port) = (tempfile::tempdir()?, ports::free()?);
        let (configuration, arguments) = kind.configuration(port, zone, key);
        for (name, text) in [("configuration", configuration.as_str()), ("zone", text)] {
            std::fs::write(folder.path().join(name), text).context(name)?;
        }
        let mut command = Command::new(binary);
        command.args(arguments).current_dir(folder.path());
        let process = Process::start(format!("{kind:?}"), command)?;
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = Self { process, _folder: folder, addr };
        server.wait_until_loaded(zone)?;
        Ok(server)
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Everything it has printed so far.
    pub fn output(&self) -> String {
        self.process.output()
    }

    fn wait_until_loaded(&self, zone: &str) -> Result<()> {
        let header = [0x52, 0x48, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let query = [&header[..], Name::parse(zone)?.wire(), &[0, 6, 0, 1]].concat();
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let outcome = client::query(self.addr, Transport::Tcp, &query, Duration::from_millis(500))?;
            let reply = outcome.reply().map(Message::decode);
            if reply.is_some_and(|reply| reply.rcode() == 0 && !reply.answer.is_empty()) {
                return Ok(());
            }
            if self.process.exit_status().is_some() || Instant::now() >= deadline {
                let (name, output) = (self.process.name(), self.output());
                return Err(Error::new(format!("{name} does not serve {zone}; its output:\n{output}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
