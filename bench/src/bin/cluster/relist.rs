//! An API server goes and comes back without its history: everybody lists everything again.

use std::time::{Duration, Instant};

use testkit::cluster::Cluster;
use testkit::error::{Error, Result};

use crate::audit::{self, FOLLOWED};
use crate::memory;
use crate::server::Server;
use crate::watch;

/// Clients wait longer and longer between their tries, half a minute at most.
const LONGEST: Duration = Duration::from_secs(120);

const LOOK: Duration = Duration::from_millis(100);

/// In octets.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub before: u64,
    pub peak: u64,
    pub after: u64,
}

/// Makes both list again and tells what it took, in the order of the servers.
pub fn measure(cluster: &mut Cluster, servers: &[Server], moves: &mut u16) -> Result<Vec<Memory>> {
    let before: Vec<u64> = servers.iter().map(|server| server.process.rss()).collect::<Result<_>>()?;
    let from = audit::end(&cluster.audit_log())?;
    // One who had seen the last version could go on from there.
    watch::unrelated_write(cluster)?;
    for server in servers {
        server.process.forget_peak()?;
    }
    cluster.start_again()?;
    wait_for_lists(cluster, servers, from)?;
    // What comes after the list is known: the list has been taken in.
    watch::follow_one(cluster, servers, moves)?;
    servers
        .iter()
        .zip(before)
        .map(|(server, before)| {
            let after = memory::settled(&server.process)?;
            Ok(Memory { before, peak: server.process.vm_hwm()?, after })
        })
        .collect()
}

/// The proof that they did, from the API server's own log.
fn wait_for_lists(cluster: &Cluster, servers: &[Server], from: u64) -> Result<()> {
    let deadline = Instant::now() + LONGEST;
    loop {
        let lists = audit::lists(&cluster.audit_log(), from)?;
        if lists.len() >= servers.len() * FOLLOWED.len() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::new(format!("not everything was listed again, only {lists:?}")));
        }
        std::thread::sleep(LOOK);
    }
}
