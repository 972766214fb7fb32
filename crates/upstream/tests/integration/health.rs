use std::time::{Duration, Instant};

use testkit::client::Transport;
use testkit::scripted_upstream::{ScriptedUpstream, Step};
use upstream::Options;
use wire::NameBuf;

use crate::ask::{metric, to};

const INTERVAL: Duration = Duration::from_millis(40);

async fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "not {what} in ten seconds");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn down_and_up_again() {
    let server = ScriptedUpstream::start().unwrap();
    let upstream = to(&server, |options| options.health.interval = INTERVAL);
    assert!(!upstream.is_down(1));
    server.switch_off();
    // Repeated calls start one task.
    for _ in 0..10 {
        upstream.check_health();
    }
    until("down", || upstream.is_down(3)).await;
    assert!(!upstream.is_down(0) && !upstream.is_down(1000));
    let labels = format!("proxy_name=\"forward\",to=\"{}\"", server.addr());
    assert!(metric("coredns_proxy_healthcheck_failures_total", &labels) >= 4.0);
    // REFUSED, the only reply of this server, is an answer.
    server.switch_on().unwrap();
    until("up", || !upstream.is_down(1)).await;
    tokio::time::sleep(4 * INTERVAL).await;
    let seen = server.seen();
    assert_eq!(seen.len(), 1, "probing ends with the first answer");
    assert_eq!((seen[0].name.as_str(), seen[0].qtype, seen[0].transport), (".", 2, Transport::Udp));
    assert_eq!(seen[0].packet[2], 1, "recursion desired");
    // Probing can start again.
    upstream.check_health();
    until("probed", || server.total() == 2).await;
}

#[tokio::test]
async fn any_answer_counts() {
    for step in [Step::Servfail, Step::Lame, Step::Broken, Step::WrongQuestion, Step::Oversize] {
        let server = ScriptedUpstream::start().unwrap();
        let upstream = to(&server, |options| options.health.interval = INTERVAL);
        let what = format!("{step:?}");
        server.otherwise([step]);
        upstream.check_health();
        until(&what, || server.total() == 1).await;
        tokio::time::sleep(4 * INTERVAL).await;
        assert_eq!(server.total(), 1, "{what}");
    }
}

#[tokio::test]
async fn probes_are_as_configured() {
    type Change = fn(&mut Options);
    let cases: [(Change, &str, u8, Transport); 3] = [
        (|options| options.health.recursion_desired = false, ".", 0, Transport::Udp),
        (
            |options| options.health.domain = NameBuf::parse("example.org").unwrap(),
            "example.org.",
            1,
            Transport::Udp,
        ),
        (|options| options.health.tcp = true, ".", 1, Transport::Tcp),
    ];
    for (change, name, flags, transport) in cases {
        let server = ScriptedUpstream::start().unwrap();
        let upstream = to(&server, change);
        upstream.check_health();
        until("probed", || server.total() == 1).await;
        let seen = server.seen().remove(0);
        assert_eq!((seen.name.as_str(), seen.packet[2], seen.transport), (name, flags, transport));
    }
}

#[tokio::test]
async fn stop_ends_probing() {
    let server = ScriptedUpstream::start().unwrap();
    server.switch_off();
    let upstream = to(&server, |options| options.health.interval = INTERVAL);
    upstream.check_health();
    until("down", || upstream.is_down(1)).await;
    upstream.stop();
    server.switch_on().unwrap();
    tokio::time::sleep(4 * INTERVAL).await;
    upstream.check_health();
    tokio::time::sleep(2 * INTERVAL).await;
    assert_eq!(server.total(), 0);
}

#[tokio::test]
async fn a_dropped_upstream_is_not_probed() {
    let server = ScriptedUpstream::start().unwrap();
    server.silence();
    let upstream = to(&server, |options| options.health.interval = INTERVAL);
    upstream.check_health();
    until("probed", || server.total() == 1).await;
    drop(upstream);
    tokio::time::sleep(Duration::from_millis(1300)).await;
    assert_eq!(server.total(), 1);
}
