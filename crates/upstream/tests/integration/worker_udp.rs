//! UDP on a worker's thread, where queries share sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Poll;
use std::time::{Duration, Instant};

use testkit::scripted_upstream::{ScriptedUpstream, Step};
use upstream::Network::Udp;

use crate::ask::{ask, good, query, summary, to};
use crate::reactor::{all, on_worker};

/// Maximum number of queries in flight on one socket.
const MAX_IN_FLIGHT: usize = 16;

fn ports(server: &ScriptedUpstream) -> BTreeMap<u16, usize> {
    let mut ports = BTreeMap::new();
    for seen in server.seen() {
        *ports.entry(seen.from.port()).or_insert(0) += 1;
    }
    ports
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("n{i}.example.")).collect()
}

#[test]
fn a_few_queries_share_a_socket_and_each_has_its_own_id() {
    let server = ScriptedUpstream::start().unwrap();
    server.otherwise([good().delayed(Duration::from_millis(100))]);
    let upstream = to(&server, |_| {});
    on_worker(async {
        for answer in all(names(50).iter().map(|name| ask(&upstream, name, Udp))).await {
            assert!(answer.is_ok(), "{answer:?}");
        }
        let ports = ports(&server);
        assert_eq!((ports.len(), ports.values().max()), (4, Some(&MAX_IN_FLIGHT)), "{ports:?}");
        let ids: BTreeSet<(u16, u16)> =
            server.seen().iter().map(|seen| (seen.from.port(), seen.id)).collect();
        assert_eq!(ids.len(), 50);
        // Ports rotate.
        server.forget();
        server.otherwise([good()]);
        for name in names(8) {
            ask(&upstream, &name, Udp).await.unwrap();
        }
        let turns: Vec<u16> = server.seen().iter().map(|seen| seen.from.port()).collect();
        assert_eq!(turns[..4], turns[4..]);
        assert_eq!(turns.iter().collect::<BTreeSet<_>>().len(), 4);
    });
}

#[test]
fn a_socket_with_a_timeout_is_retired_but_completes_its_other_queries() {
    let server = ScriptedUpstream::start().unwrap();
    server.on("lost", [Step::Silence]);
    server.on("slow", [good().delayed(Duration::from_millis(800))]);
    server.otherwise([good()]);
    let upstream = to(&server, |options| options.read_timeout = Duration::from_millis(1000));
    on_worker(async {
        let lost = async {
            let lost = summary(&ask(&upstream, "lost.", Udp).await);
            ask(&upstream, "after.", Udp).await.unwrap();
            lost
        };
        let slow = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            summary(&ask(&upstream, "slow.", Udp).await)
        };
        let ends = all([lost.boxed(), slow.boxed()]).await;
        assert_eq!(ends, ["read udp HOST->HOST: i/o timeout", "0 qr,rd,ra slow. 300 IN A 192.0.2.1"]);
    });
    let ports: Vec<u16> = server.seen().iter().map(|seen| seen.from.port()).collect();
    assert!(ports[0] == ports[1] && ports[1] != ports[2], "{ports:?}");
}

#[test]
fn a_late_answer_is_ignored() {
    let server = ScriptedUpstream::start().unwrap();
    server.on("x", [good().delayed(Duration::from_millis(100)), Step::Servfail]);
    let upstream = to(&server, |options| options.read_timeout = Duration::from_millis(60));
    on_worker(async {
        assert_eq!(summary(&ask(&upstream, "x.", Udp).await), "read udp HOST->HOST: i/o timeout");
        assert_eq!(summary(&ask(&upstream, "x.", Udp).await), "2 qr,rd,ra");
        tokio::time::sleep(Duration::from_millis(80)).await;
        assert_eq!(summary(&ask(&upstream, "x.", Udp).await), "2 qr,rd,ra");
    });
}

#[test]
fn a_closed_port_fails_all_its_queries_at_once() {
    let server = ScriptedUpstream::start().unwrap();
    server.otherwise([good()]);
    let upstream = to(&server, |options| options.read_timeout = Duration::from_secs(20));
    server.switch_off();
    let start = Instant::now();
    on_worker(async {
        for answer in all(names(40).iter().map(|name| ask(&upstream, name, Udp))).await {
            assert_eq!(summary(&answer), "read udp HOST->HOST: read: connection refused");
        }
        assert!(start.elapsed() < Duration::from_secs(5));
        server.switch_on().unwrap();
        for answer in all(names(40).iter().map(|name| ask(&upstream, name, Udp))).await {
            assert!(answer.is_ok(), "{answer:?}");
        }
    });
}

#[test]
fn a_stalled_upstream_delays_no_other() {
    let (stalled, well) = (ScriptedUpstream::start().unwrap(), ScriptedUpstream::start().unwrap());
    stalled.otherwise([Step::Silence]);
    well.otherwise([good()]);
    let (slow, fast) = (to(&stalled, |_| {}), to(&well, |_| {}));
    on_worker(async {
        let start = Instant::now();
        let names = names(100);
        let waiting = names.iter().map(|name| async {
            let _ = ask(&slow, name, Udp).await;
            Duration::ZERO
        });
        let served = names.iter().map(|name| async {
            ask(&fast, name, Udp).await.unwrap();
            start.elapsed()
        });
        let took = all(waiting.map(Boxed::boxed).chain(served.map(Boxed::boxed))).await;
        assert!(took.iter().all(|took| *took < Duration::from_millis(400)), "{took:?}");
    });
}

#[test]
fn a_query_that_moves_to_another_thread_is_sent_again_there() {
    let server = ScriptedUpstream::start().unwrap();
    server.on("x", [Step::Silence, good()]);
    let upstream = to(&server, |options| options.read_timeout = Duration::from_secs(20));
    let mut moved: BoxedFuture<_> = {
        let upstream = upstream.clone();
        Box::pin(async move { upstream.exchange(&query("x."), Udp, 512).await })
    };
    on_worker(async {
        let waits =
            std::future::poll_fn(|context| Poll::Ready(moved.as_mut().poll(context).is_pending())).await;
        assert!(waits);
        // Now it is sent.
        tokio::time::sleep(Duration::from_millis(20)).await;
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(summary(&runtime.block_on(moved)), "0 qr,rd,ra x. 300 IN A 192.0.2.1");
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn the_number_of_idle_sockets_is_limited() {
    for (most, left) in [(0, 3), (2, 2), (1, 1)] {
        let server = ScriptedUpstream::start().unwrap();
        server.otherwise([good().delayed(Duration::from_millis(20))]);
        let upstream = to(&server, |options| options.max_idle = most);
        on_worker(async {
            for _ in 0..2 {
                all(names(3 * MAX_IN_FLIGHT).iter().map(|name| ask(&upstream, name, Udp))).await;
            }
            server.forget();
            server.otherwise([good()]);
            for name in names(6) {
                ask(&upstream, &name, Udp).await.unwrap();
            }
            assert_eq!(ports(&server).len(), left, "{most}");
        });
    }
}

type BoxedFuture<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;

trait Boxed<'a>: Future + Sized + 'a {
    fn boxed(self) -> std::pin::Pin<Box<dyn Future<Output = Self::Output> + 'a>> {
        Box::pin(self)
    }
}

impl<'a, F: Future + 'a> Boxed<'a> for F {}
