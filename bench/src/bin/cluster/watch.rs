//! From a change at the API server to the answer that shows it.
//!
//! The servers take turns of a few changes. Whoever's turn it is not stands still: they share a processor, and each would
//! measure how long the other works on the same change.

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

/// Between two questions of one thread: what is measured is exact to this and one exchange.
pub const PERIOD: Duration = Duration::from_micros(200);

const ANSWER: Duration = Duration::from_secs(1);

/// Changes in a turn.
const TURN: u32 = 20;

/// Between two changes.
const PAUSE: Duration = Duration::from_millis(25);

/// No server may take longer to show a change, or to be asked at all.
const LONGEST: Duration = Duration::from_secs(60);

/// A watch is watched for no longer.
const LONGEST_WATCH: Duration = Duration::from_secs(600);

/// In milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// From before the write was sent.
    pub from_write: Times,
    /// From when a watch of ours was told of it. The server's may be told a little earlier: then it is below zero.
    pub from_event: Times,
}

/// Makes some changes for each server; gives the delays in the order of the servers.
pub fn measure(cluster: &Cluster, servers: &[Server], changes: u32, moves: &mut u16) -> Result<Vec<Delays>> {
    let mut delays = vec![(Vec::new(), Vec::new()); servers.len()];
    let told = Told::watch(cluster.api())?;
    for begun in (0..changes).step_by(TURN as usize) {
        let turn = TURN.min(changes - begun);
        for (server, (from_write, from_event)) in servers.iter().zip(&mut delays) {
            let others = servers.iter().filter(|other| other.kind != server.kind);
            let _still = others.map(Still::stand).collect::<Result<Vec<_>>>()?;
            // What came while it stood still itself.
            follow_one(cluster, from_ref(server), moves)?;
            watched(from_ref(server), |watchers| {
                for _ in 0..turn {
                    thread::sleep(PAUSE);
                    *moves = moves.wrapping_add(1);
                    let began = Instant::now();
                    let seen = one(cluster.api(), watchers, *moves)?;
                    let event = told.of(*moves)?;
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

/// A server that stands still until the value goes.
struct Still<'a>(&'a Process);

impl<'a> Still<'a> {
    fn stand(server: &'a Server) -> Result<Self> {
        server.process.signal(Signal::STOP)?;
        Ok(Self(&server.process))
    }
}

impl Drop for Still<'_> {
    fn drop(&mut self) {
        // One that has ended is told by whoever asks it next.
        let _ = self.0.signal(Signal::CONT);
    }
}

/// Makes one change and waits until all servers show it.
pub fn follow_one(cluster: &Cluster, servers: &[Server], moves: &mut u16) -> Result<()> {
    *moves = moves.wrapping_add(1);
    watched(servers, |watchers| one(cluster.api(), watchers, *moves).map(drop))
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

/// Writes the `n`th move; gives when each server showed it.
fn one(api: &Api, watchers: &[Watcher], n: u16) -> Result<Vec<Instant>> {
    for watcher in watchers {
        watcher.wanted.send(n).context("a thread that asks has ended")?;
    }
    let slice = moving::slice(n);
    api.patch(&Resource::EndpointSlice.path(&slice.namespace, &slice.name), &moving::endpoints(n))?;
    watchers.iter().map(|watcher| watcher.seen.recv().context("a thread that asks has ended")?).collect()
}

/// A watch of our own: when a server could have known of a move.
struct Told(Receiver<(u16, Instant)>);

impl Told {
    fn watch(api: &Api) -> Result<Self> {
        let path = format!("{}?watch=true", Resource::EndpointSlice.collection(moving::NAMESPACE));
        let lines = api.lines(&path, LONGEST_WATCH)?;
        let (tell, told) = mpsc::channel();
        // Ends with the stream, or when nobody wants to know any more.
        thread::spawn(move || {
            for line in lines.map_while(std::result::Result::ok) {
                let now = Instant::now();
                let read = moving::read(&line);
                if read.is_some_and(|n| tell.send((n, now)).is_err()) {
                    return;
                }
            }
        });
        Ok(Self(told))
    }

    /// Earlier ones are passed over.
    fn of(&self, n: u16) -> Result<Instant> {
        loop {
            let (read, at) = self.0.recv_timeout(LONGEST).context("our own watch is not told of a move")?;
            if read == n {
                return Ok(at);
            }
        }
    }
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
