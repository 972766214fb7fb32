//! From a change at the API server to the answer that shows it, both servers watching the same changes.
//!
//! One thread per server asks all the time; which of them begins first alternates.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::cluster::objects::Resource;
use testkit::cluster::{Api, Cluster};
use testkit::error::{Context, Error, Result};

use crate::moving::{self, Follower};
use crate::percentile::Times;
use crate::server::Server;

/// Between two questions of one thread: what is measured is exact to this and one exchange.
const PERIOD: Duration = Duration::from_micros(200);

const ANSWER: Duration = Duration::from_secs(1);

/// Between two changes.
const PAUSE: Duration = Duration::from_millis(25);

/// No server may take longer to show a change, or to be asked at all.
const LONGEST: Duration = Duration::from_secs(60);

/// In milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// From before the write was sent.
    pub from_write: Times,
    /// From the API server's answer to it. A watch may be told before the writer is: then it is below zero.
    pub from_answer: Times,
}

/// Makes some changes; gives the delays in the order of the servers.
pub fn measure(cluster: &Cluster, servers: &[Server], changes: u32, moves: &mut u16) -> Result<Vec<Delays>> {
    let mut delays = vec![(Vec::new(), Vec::new()); servers.len()];
    watched(servers, |watchers| {
        for change in 0..changes {
            *moves = moves.wrapping_add(1);
            let turned = change as usize % watchers.len();
            let seen = one(cluster.api(), watchers, *moves, turned)?;
            for ((from_write, from_answer), delay) in delays.iter_mut().zip(seen) {
                from_write.push(delay.0);
                from_answer.push(delay.1);
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    })?;
    let times = |(from_write, from_answer)| Delays {
        from_write: Times::new(from_write),
        from_answer: Times::new(from_answer),
    };
    Ok(delays.into_iter().map(times).collect())
}

/// Makes one change and waits until all servers show it.
pub fn follow_one(cluster: &Cluster, servers: &[Server], moves: &mut u16) -> Result<()> {
    *moves = moves.wrapping_add(1);
    watched(servers, |watchers| one(cluster.api(), watchers, *moves, 0).map(drop))
}

/// A change that no DNS server is interested in; the version of the whole moves on with it.
pub fn unrelated_write(cluster: &Cluster) -> Result<()> {
    let map = json!({"metadata": {"generateName": "unrelated-"}});
    cluster.api().create("/api/v1/namespaces/default/configmaps", &map).map(drop)
}

/// A thread that asks one server.
struct Watcher {
    /// Tells it what to wait for.
    wanted: Sender<u16>,
    /// When it saw that.
    seen: Receiver<Result<Instant>>,
}

fn watched(servers: &[Server], during: impl FnOnce(&[Watcher]) -> Result<()>) -> Result<()> {
    let mut watchers = Vec::new();
    for server in servers {
        let follower = Follower::new(server.asker()?)?;
        let (wanted, wants) = mpsc::channel::<u16>();
        let (sees, seen) = mpsc::channel();
        let name = server.kind.name();
        // Ends with the sender of what it waits for.
        thread::spawn(move || {
            for want in wants {
                if sees.send(wait(&follower, want).context(name)).is_err() {
                    return;
                }
            }
        });
        watchers.push(Watcher { wanted, seen });
    }
    during(&watchers)
}

/// Writes the `n`th move; gives both delays of each server.
fn one(api: &Api, watchers: &[Watcher], n: u16, first: usize) -> Result<Vec<(f64, f64)>> {
    for k in 0..watchers.len() {
        let watcher = &watchers[(first + k) % watchers.len()];
        watcher.wanted.send(n).context("a thread that asks has ended")?;
    }
    let slice = moving::slice(n);
    let began = Instant::now();
    api.patch(&Resource::EndpointSlice.path(&slice.namespace, &slice.name), &moving::endpoints(n))?;
    let answered = Instant::now();
    watchers
        .iter()
        .map(|watcher| {
            let seen = watcher.seen.recv().context("a thread that asks has ended")??;
            Ok((milliseconds(began, seen), milliseconds(answered, seen)))
        })
        .collect()
}

fn wait(follower: &Follower, want: u16) -> Result<Instant> {
    let deadline = Instant::now() + LONGEST;
    loop {
        if follower.at(ANSWER)? == Some(want) {
            return Ok(Instant::now());
        }
        if Instant::now() >= deadline {
            return Err(Error::new(format!("move {want} is not seen after {LONGEST:?}")));
        }
        thread::sleep(PERIOD);
    }
}

/// Below zero if `to` was first.
fn milliseconds(from: Instant, to: Instant) -> f64 {
    let ahead = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64() * 1e3;
    ahead(from, to) - ahead(to, from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_is_told_before_the_writer_is_early() {
        let now = Instant::now();
        let later = now + Duration::from_millis(3);
        assert_eq!(milliseconds(now, later), 3.0);
        assert_eq!(milliseconds(later, now), -3.0);
    }
}
