//! The API server restarts without its history: both servers list everything again.

use std::time::{Duration, Instant};

use testkit::cluster::Cluster;
use testkit::error::{Error, Result};

use crate::audit::{self, WATCHED_KINDS};
use crate::memory;
use crate::server::Server;
use crate::watch;

/// Time limit: clients back off up to half a minute between attempts.
const TIMEOUT: Duration = Duration::from_secs(120);

const INTERVAL: Duration = Duration::from_millis(100);

/// In octets.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub before: u64,
    pub peak: u64,
    pub after: u64,
}

/// Makes both servers relist and returns their memory, in the order of the servers.
pub fn measure(cluster: &mut Cluster, servers: &[Server], moves: &mut u16) -> Result<Vec<Memory>> {
    let before: Vec<u64> = servers.iter().map(|server| server.process.rss()).collect::<Result<_>>()?;
    let from = audit::end(&cluster.audit_log())?;
    // A server that has the last version could resume its watch from there.
    watch::unrelated_write(cluster)?;
    for server in servers {
        server.process.reset_peak()?;
    }
    cluster.restart()?;
    wait_for_lists(cluster, servers, from)?;
    // A server that shows a later change has processed the list.
    watch::follow_one(cluster, servers, moves)?;
    servers
        .iter()
        .zip(before)
        .map(|(server, before)| {
            let after = memory::stable(&server.process)?;
            Ok(Memory { before, peak: server.process.vm_hwm()?, after })
        })
        .collect()
}

/// Waits until the API server's audit log shows the lists.
fn wait_for_lists(cluster: &Cluster, servers: &[Server], from: u64) -> Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let lists = audit::lists(&cluster.audit_log(), from)?;
        if lists.len() >= servers.len() * WATCHED_KINDS.len() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::new(format!("incomplete relist, only {lists:?}")));
        }
        std::thread::sleep(INTERVAL);
    }
}
