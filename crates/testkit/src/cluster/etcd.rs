//! One etcd member on loopback, without TLS.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::objects::text;
use crate::error::{Context, Error, Result};
use crate::network::Host;
use crate::peers::Peer;
use crate::ports;
use crate::process::{Process, Signal};

const START_TIMEOUT: Duration = Duration::from_secs(60);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// Terminated when dropped; its data are removed.
pub struct Etcd {
    process: Mutex<Process>,
    host: Host,
    ports: [u16; 2],
    url: String,
    data: TempDir,
}

impl Etcd {
    pub fn start() -> Result<Self> {
        Self::start_at(&Host::default())
    }

    /// On the loopback of a host's network namespace.
    pub fn start_at(host: &Host) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let ports = [ports::free()?, ports::free()?];
        let process = Mutex::new(start(host, ports, data.path())?);
        let etcd = Self { process, host: host.clone(), ports, url: url(ports[0]), data };
        etcd.wait_until_healthy()?;
        Ok(etcd)
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn pid(&self) -> u32 {
        self.process().pid()
    }

    /// Sends a signal to it, such as STOP and CONT.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.process().signal(signal)
    }

    /// Kills it; its data stay.
    pub fn kill(&self) -> Result<()> {
        self.process().kill().map(drop)
    }

    /// Starts it again after a kill, on the same ports with the same data. Does not wait for it.
    pub fn restart(&self) -> Result<()> {
        *self.process() = start(&self.host, self.ports, self.data.path())?;
        Ok(())
    }

    /// Compacts all of its history: watches from an earlier revision on fail. Returns the revision that is now the
    /// oldest.
    pub fn compact(&self) -> Result<i64> {
        // Any key will do: the header of each response has the revision.
        let head = self.post("/v3/kv/range", &json!({"key": "AA=="}))?;
        let revision = text(&head, "/header/revision").parse().context("etcd's revision")?;
        self.post("/v3/kv/compaction", &json!({"revision": revision, "physical": true}))?;
        Ok(revision)
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let body = serde_json::to_vec(body).context(path)?;
        let answer = agent().post(format!("{}{path}", self.url)).send(body.as_slice());
        let answer = answer.and_then(|mut answer| answer.body_mut().read_to_vec()).context(path)?;
        serde_json::from_slice(&answer).context(path)
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until_healthy(&self) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            // 200 only once it has a leader, which is itself.
            if agent().get(format!("{}/health", self.url)).call().is_ok() {
                return Ok(());
            }
            let process = self.process();
            let ended = process.exit_status();
            if ended.is_some() || Instant::now() >= deadline {
                let how = ended.map_or("did not become healthy".into(), |status| format!("ended ({status})"));
                return Err(Error::new(format!("etcd {how}:\n{}", process.output())));
            }
            drop(process);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(REQUEST_TIMEOUT)).build().new_agent()
}

fn start(host: &Host, ports: [u16; 2], data: &Path) -> Result<Process> {
    let [client, peer] = ports.map(url);
    let mut command: Command = host.command(Peer::Etcd.locate()?);
    command.arg("--data-dir").arg(data.join("etcd"));
    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
    command.args(["--initial-cluster", &format!("default={peer}")]);
    // The data need not survive a power failure, only the test.
    command.args(["--unsafe-no-fsync", "--log-level", "warn"]);
    Process::start("etcd", command)
}
