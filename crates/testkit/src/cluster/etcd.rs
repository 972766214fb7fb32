//! One etcd member on loopback, without TLS.

use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::peers::Peer;
use crate::ports;
use crate::process::Process;

const START: Duration = Duration::from_secs(60);

/// Ended when dropped, and its data with it.
pub struct Etcd {
    process: Process,
    url: String,
    _data: TempDir,
}

impl Etcd {
    pub fn start() -> Result<Self> {
        let data = tempfile::tempdir()?;
        let url = format!("http://127.0.0.1:{}", ports::free()?);
        let peer = format!("http://127.0.0.1:{}", ports::free()?);
        let mut command = Command::new(Peer::Etcd.locate()?);
        command.arg("--data-dir").arg(data.path().join("etcd"));
        command.args(["--listen-client-urls", &url, "--advertise-client-urls", &url]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("default={peer}")]);
        // The data need not survive a power failure, only the test.
        command.args(["--unsafe-no-fsync", "--log-level", "warn"]);
        let etcd = Self { process: Process::start("etcd", command)?, url, _data: data };
        etcd.wait_until_healthy()?;
        Ok(etcd)
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    fn wait_until_healthy(&self) -> Result<()> {
        let agent =
            ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(2))).build().new_agent();
        let deadline = Instant::now() + START;
        loop {
            // 200 only once it has a leader, which is itself.
            if agent.get(format!("{}/health", self.url)).call().is_ok() {
                return Ok(());
            }
            let ended = self.process.exit_status();
            if ended.is_some() || Instant::now() >= deadline {
                let how = ended.map_or("does not get healthy".into(), |status| format!("ended ({status})"));
                return Err(Error::new(format!("etcd {how}:\n{}", self.process.output())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
