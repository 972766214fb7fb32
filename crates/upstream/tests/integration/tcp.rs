use std::time::{Duration, Instant};

use testkit::scripted_upstream::{Accept, ScriptedUpstream, Step};
use upstream::Network::Tcp;

use crate::ask::{ask, good, metric, summary, to};

#[tokio::test]
async fn answers_and_other_messages() {
    let right = "0 qr,rd,ra x.example. 300 IN A 192.0.2.1";
    let timeout = "read tcp HOST->HOST: i/o timeout";
    let cases = [
        ("an answer", good(), right),
        ("only over TCP", good().truncated(), right),
        ("a late one", good().delayed(Duration::from_millis(30)), right),
        ("octet by octet", good().dripping(Duration::from_millis(1)), right),
        ("octet by octet, too slow", good().dripping(Duration::from_millis(50)), timeout),
        ("nothing", Step::Silence, timeout),
        ("closed instead", Step::Close, "EOF"),
        ("another id", Step::WrongId, timeout),
        ("another id first", Step::All(vec![Step::WrongId, good()]), right),
        ("another question", Step::WrongQuestion, "the reply has another question than the query"),
        ("unreadable records", Step::Broken, "dns: malformed reply"),
        ("garbage", Step::Garbage, timeout),
        ("SERVFAIL", Step::Servfail, "2 qr,rd,ra"),
    ];
    let server = ScriptedUpstream::start().unwrap();
    let upstream = to(&server, |_| {});
    for (what, step, expected) in cases {
        server.on("x", [step]);
        assert_eq!(summary(&ask(&upstream, "x.example.", Tcp).await), expected, "{what}");
    }
    server.on("big", [Step::Oversize]);
    let answer = ask(&upstream, "big.", Tcp).await.unwrap();
    assert!(answer.message.len() > 512 && answer.message[2] & 2 == 0);
}

#[tokio::test]
async fn connections_are_kept_and_replaced_when_closed() {
    let server = ScriptedUpstream::start().unwrap();
    server.otherwise([good()]);
    let upstream = to(&server, |_| {});
    for _ in 0..3 {
        ask(&upstream, "x.", Tcp).await.unwrap();
    }
    server.close_connections();
    ask(&upstream, "x.", Tcp).await.unwrap();
    server.accept(Accept::CloseAfterAnswer);
    server.close_connections();
    for _ in 0..3 {
        ask(&upstream, "x.", Tcp).await.unwrap();
    }
    let ports: Vec<u16> = server.seen().iter().map(|seen| seen.from.port()).collect();
    let same: Vec<bool> = ports.windows(2).map(|pair| pair[0] == pair[1]).collect();
    assert_eq!(same, [true, true, false, false, false, false]);

    let labels = format!("proto=\"tcp\",proxy_name=\"forward\",to=\"{}\"", server.addr());
    assert_eq!(metric("coredns_proxy_conn_cache_hits_total", &labels), 6.0);
    assert_eq!(metric("coredns_proxy_conn_cache_misses_total", &labels), 5.0);
}

#[tokio::test]
async fn a_fresh_connection_that_is_closed_is_an_error() {
    let server = ScriptedUpstream::start().unwrap();
    server.accept(Accept::Close);
    let upstream = to(&server, |_| {});
    let error = ask(&upstream, "x.", Tcp).await.unwrap_err().to_string();
    assert!(error == "EOF" || error.ends_with("connection reset by peer"), "{error}");
}

#[tokio::test]
async fn connection_refused() {
    let server = ScriptedUpstream::start().unwrap();
    server.otherwise([good()]);
    let upstream = to(&server, |_| {});
    ask(&upstream, "x.", Tcp).await.unwrap();
    server.switch_off();
    assert_eq!(summary(&ask(&upstream, "x.", Tcp).await), "dial tcp HOST: connect: connection refused");
    server.switch_on().unwrap();
    assert!(ask(&upstream, "x.", Tcp).await.is_ok());
}

#[tokio::test]
async fn every_query_has_a_connection_of_its_own() {
    let server = ScriptedUpstream::start().unwrap();
    server.otherwise([good().delayed(Duration::from_millis(100))]);
    let upstream = to(&server, |options| options.read_timeout = Duration::from_secs(5));
    let start = Instant::now();
    let all: Vec<_> = (0..20)
        .map(|i| {
            let upstream = upstream.clone();
            tokio::spawn(async move { ask(&upstream, &format!("{i}."), Tcp).await.unwrap() })
        })
        .collect();
    for one in all {
        one.await.unwrap();
    }
    assert!(start.elapsed() < Duration::from_millis(1000));
    assert_eq!(server.total(), 20);
}
