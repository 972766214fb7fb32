//! The time from a change at the API server to the answer with it.
//!
//! The servers take turns of a few changes, and the other one is stopped: they share a CPU, and each would measure the
//! other's work on the same change.

use std::slice::from_ref;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::cluster::objects::Resource;
use testkit::cluster::{Api, Cluster};
use testkit::error::{Context, Error, Result};
use testkit::process::{Process, Signal};

use crate::moving::{self, Follower};
use crate::percentile::Times;
use crate::server::Server;

/// Query interval of one thread: the resolution is this plus one exchange.
pub const PERIOD: Duration = Duration::from_micros(200);

const QUERY_TIMEOUT: Duration = Duration::from_secs(1);

/// Changes in a turn.
const TURN: u32 = 20;

/// Pause between changes.
const PAUSE: Duration = Duration::from_millis(25);

/// Time limit until a change is visible.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit of our own watch.
const WATCH_TIMEOUT: Duration = Duration::from_secs(600);

/// In milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// From just before the write.
    pub from_write: Times,
    /// From the event in our own watch. The server's may arrive earlier: then it is below zero.
    pub from_event: Times,
}

/// Makes some changes for each server; returns the delays in the order of the servers.
pub fn measure(cluster: &Cluster, servers: &[Server], changes: u32, moves: &mut u16) -> Result<Vec<Delays>> {
    let mut delays = vec![(Vec::new(), Vec::new()); servers.len()];
    let own_watch = OwnWatch::watch(cluster.api())?;
    for begun in (0..changes).step_by(TURN as usize) {
        let turn = TURN.min(changes - begun);
        for (server, (from_write, from_event)) in servers.iter().zip(&mut delays) {
            let others = servers.iter().filter(|other| other.kind != server.kind);
            let _still = others.map(Stopped::new).collect::<Result<Vec<_>>>()?;
            // Catches up with changes made while it was stopped.
            follow_one(cluster, from_ref(server), moves)?;
            watched(from_ref(server), |watchers| {
                for _ in 0..turn {
                    thread::sleep(PAUSE);
                    *moves = moves.wrapping_add(1);
                    let began = Instant::now();
                    let seen = one(cluster.api(), watchers, *moves)?;
                    let event = own_watch.time_of(*moves)?;
                    from_write.extend(seen.iter().map(|seen| milliseconds(began, *seen)));
                    from_event.extend(seen.iter().map(|seen| milliseconds(event, *seen)));
                }
                Ok(())
            })?;
        }
    }
    let times = |(from_write, from_event)| Delays {
        from_write: Times::new(from_write),
        from_event: Times::new(from_event),
    };
    Ok(delays.into_iter().map(times).collect())
}

/// A stopped server (SIGSTOP); resumed when dropped.
struct Stopped<'a>(&'a Process);

impl<'a> Stopped<'a> {
    fn new(server: &'a Server) -> Result<Self> {
        server.process.signal(Signal::STOP)?;
        Ok(Self(&server.process))
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        // The next query reports a server that has exited.
        let _ = self.0.signal(Signal::CONT);
    }
}

/// Makes one change and waits until all servers answer with it.
pub fn follow_one(cluster: &Cluster, servers: &[Server], moves: &mut u16) -> Result<()> {
    *moves = moves.wrapping_add(1);
    watched(servers, |watchers| one(cluster.api(), watchers, *moves).map(drop))
}

/// A write that no DNS server watches; it advances the resource version.
pub fn unrelated_write(cluster: &Cluster) -> Result<()> {
    let map = json!({"metadata": {"generateName": "unrelated-"}});
    cluster.api().create("/api/v1/namespaces/default/configmaps", &map).map(drop)
}

/// A thread that queries one server.
struct Watcher {
    /// Sends it the move to wait for.
    wanted: Sender<u16>,
    /// Returns when it saw that.
    seen: Receiver<Result<Instant>>,
}

fn watched(servers: &[Server], during: impl FnOnce(&[Watcher]) -> Result<()>) -> Result<()> {
    let mut watchers = Vec::new();
    for server in servers {
        let follower = Follower::new(server.client()?)?;
        let (wanted, wants) = mpsc::channel::<u16>();
        let (sees, seen) = mpsc::channel();
        let name = server.kind.name();
        // Ends with the sender of moves.
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

/// Writes the `n`th move; returns when each server answered with it.
fn one(api: &Api, watchers: &[Watcher], n: u16) -> Result<Vec<Instant>> {
    for watcher in watchers {
        watcher.wanted.send(n).context("a client thread has ended")?;
    }
    let slice = moving::slice(n);
    api.patch(&Resource::EndpointSlice.path(&slice.namespace, &slice.name), &moving::endpoints(n))?;
    watchers.iter().map(|watcher| watcher.seen.recv().context("a client thread has ended")?).collect()
}

/// Our own watch: the earliest time a server could know of a move.
struct OwnWatch(Receiver<(u16, Instant)>);

impl OwnWatch {
    fn watch(api: &Api) -> Result<Self> {
        let path = format!("{}?watch=true", Resource::EndpointSlice.collection(moving::NAMESPACE));
        let lines = api.lines(&path, WATCH_TIMEOUT)?;
        let (sender, receiver) = mpsc::channel();
        // Ends with the stream, or with the receiver.
        thread::spawn(move || {
            for line in lines.map_while(std::result::Result::ok) {
                let now = Instant::now();
                let read = moving::read(&line);
                if read.is_some_and(|n| sender.send((n, now)).is_err()) {
                    return;
                }
            }
        });
        Ok(Self(receiver))
    }

    /// Skips earlier ones.
    fn time_of(&self, n: u16) -> Result<Instant> {
        loop {
            let (read, at) = self.0.recv_timeout(TIMEOUT).context("our own watch did not receive a move")?;
            if read == n {
                return Ok(at);
            }
        }
    }
}

fn wait(follower: &Follower, want: u16) -> Result<Instant> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if follower.at(QUERY_TIMEOUT)? == Some(want) {
            return Ok(Instant::now());
        }
        if Instant::now() >= deadline {
            return Err(Error::new(format!("move {want} not seen within {TIMEOUT:?}")));
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
    fn delay_is_negative_if_the_server_is_first() {
        let now = Instant::now();
        let later = now + Duration::from_millis(3);
        assert_eq!(milliseconds(now, later), 3.0);
        assert_eq!(milliseconds(later, now), -3.0);
    }
}
