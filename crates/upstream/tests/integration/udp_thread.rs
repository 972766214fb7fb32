//! Panics of the thread that serves UDP queries of tokio's tasks.

use std::time::{Duration, Instant};

use supervise::inject;
use testkit::scripted_upstream::{ScriptedUpstream, Step};
use upstream::Network::Udp;

use crate::ask::{ask, good, summary, to};

const PANICKED: &str = "read udp HOST: thread: the UDP client panicked";

#[tokio::test]
async fn a_panic_in_a_query_fails_that_query() {
    let server = ScriptedUpstream::start().unwrap();
    server.otherwise([good()]);
    let upstream = to(&server, |options| options.read_timeout = Duration::from_secs(20));
    inject::arm("udp-upstream", 1);
    assert_eq!(summary(&ask(&upstream, "x.", Udp).await), PANICKED);
    assert!(ask(&upstream, "x.", Udp).await.is_ok());
    assert_eq!(supervise::panics("udp-upstream"), 1);
}

#[tokio::test]
async fn a_panic_of_the_thread_fails_all_its_queries_and_restarts_it() {
    let server = ScriptedUpstream::start().unwrap();
    server.on("lost", [Step::Silence]);
    server.otherwise([good()]);
    let upstream = to(&server, |options| options.read_timeout = Duration::from_secs(20));
    let start = Instant::now();
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let upstream = upstream.clone();
            tokio::spawn(async move { summary(&ask(&upstream, "lost.", Udp).await) })
        })
        .collect();
    while server.seen().len() < 3 {
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", server.seen().len());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    inject::arm("udp-upstream-loop", 1);
    // Its event makes the thread panic; it is among those that fail.
    assert_eq!(summary(&ask(&upstream, "x.", Udp).await), PANICKED);
    for one in waiting {
        assert_eq!(one.await.unwrap(), PANICKED);
    }
    assert!(ask(&upstream, "x.", Udp).await.is_ok());
    assert!(start.elapsed() < Duration::from_secs(15));
    assert_eq!(supervise::panics("udp-upstream-loop"), 1);
}
