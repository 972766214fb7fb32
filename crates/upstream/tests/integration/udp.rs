//! UDP on tokio, and the same on a worker's thread.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use testkit::scripted_upstream::{Reply, ScriptedUpstream, Step};
use upstream::Network::Udp;
use upstream::{Error, Network};

use crate::ask::{ask, good, metric, query, summary, to};
use crate::reactor::on_tokio_and_worker;

#[test]
fn answers_and_other_packets() {
    on_tokio_and_worker(async || {
        let late = Duration::from_millis(30);
        let right = "0 qr,rd,ra x.example. 300 IN A 192.0.2.1";
        let timeout = "read udp HOST->HOST: i/o timeout";
        let wrong = "the reply has another question than the query";
        let cases = [
            ("an answer", good(), right),
            ("a late one", good().delayed(late), right),
            ("nothing", Step::Silence, timeout),
            ("too late", good().delayed(Duration::from_millis(1500)), timeout),
            ("nothing in it", Step::Lame, "0 qr,rd,ra"),
            ("SERVFAIL", Step::Servfail, "2 qr,rd,ra"),
            ("REFUSED", Step::Refused, "5 qr,rd,ra"),
            ("NXDOMAIN", Step::Reply(Reply::rcode(3)), "3 qr,rd,ra"),
            ("truncated", good().truncated(), "0 qr,tc,rd,ra"),
            ("more than fits", Step::Oversize, "0 qr,tc,rd,ra"),
            ("unreadable records", Step::Broken, "0 qr,tc,rd,ra"),
            ("another case", good().in_lower_case(), right),
            ("another id", Step::WrongId, timeout),
            ("another port", Step::WrongPort, timeout),
            ("another question", Step::WrongQuestion, wrong),
            ("garbage", Step::Garbage, timeout),
            ("less than a header", Step::Short, timeout),
            ("another id first", Step::All(vec![Step::WrongId, good().delayed(late)]), right),
            ("another port first", Step::All(vec![Step::WrongPort, good().delayed(late)]), right),
            ("garbage first", Step::All(vec![Step::Garbage, Step::Short, good().delayed(late)]), right),
            ("another question first", Step::All(vec![Step::WrongQuestion, good()]), wrong),
        ];
        let server = ScriptedUpstream::start().unwrap();
        let upstream = to(&server, |_| {});
        for (what, step, expected) in cases {
            server.on("x", [step]);
            let answer = ask(&upstream, "x.example.", Udp).await;
            assert_eq!(summary(&answer), expected, "{what}");
            if let Ok(answer) = answer {
                let seen = server.seen().pop().unwrap();
                assert_eq!((answer.network, answer.local.unwrap().port()), (Udp, seen.from.port()), "{what}");
            }
        }
    });
}

#[test]
fn a_bigger_buffer_takes_bigger_answers() {
    on_tokio_and_worker(async || {
        let server = ScriptedUpstream::start().unwrap();
        server.otherwise([Step::Oversize]);
        let upstream = to(&server, |_| {});
        for (size, truncated) in [(0, true), (512, true), (4096, false), (65535, false)] {
            let answer = upstream.exchange(&query("x."), Udp, size).await.unwrap();
            assert_eq!(answer.message[2] & 2 != 0, truncated, "{size}");
        }
    });
}

#[test]
fn a_closed_port_is_an_error_at_once() {
    on_tokio_and_worker(async || {
        let server = ScriptedUpstream::start().unwrap();
        server.otherwise([good()]);
        let upstream = to(&server, |options| options.read_timeout = Duration::from_secs(20));
        server.switch_off();
        let start = Instant::now();
        assert_eq!(
            summary(&ask(&upstream, "x.", Udp).await),
            "read udp HOST->HOST: read: connection refused"
        );
        assert!(start.elapsed() < Duration::from_secs(5));
        server.switch_on().unwrap();
        assert!(ask(&upstream, "x.", Udp).await.is_ok());
    });
}

#[test]
fn ids_and_ports_change() {
    on_tokio_and_worker(async || {
        let server = ScriptedUpstream::start().unwrap();
        server.otherwise([good()]);
        let upstream = to(&server, |_| {});
        for i in 0..200 {
            ask(&upstream, &format!("{i}."), Udp).await.unwrap();
        }
        let seen = server.seen();
        let ids: BTreeSet<u16> = seen.iter().map(|seen| seen.id).collect();
        let ports: BTreeSet<u16> = seen.iter().map(|seen| seen.from.port()).collect();
        assert!(ids.len() > 190, "{} ids", ids.len());
        assert_eq!(ports.len(), 2, "a socket serves a hundred queries");
        let rising = seen.windows(2).filter(|pair| pair[0].id < pair[1].id).count();
        assert!((60..140).contains(&rising), "{rising} of 199 ids are higher than the one before");
    });
}

#[tokio::test]
async fn at_the_same_time_each_query_has_a_socket_of_its_own() {
    let server = ScriptedUpstream::start().unwrap();
    server.otherwise([good().delayed(Duration::from_millis(100))]);
    let upstream = to(&server, |_| {});
    let all: Vec<_> = (0..50)
        .map(|i| {
            let upstream = upstream.clone();
            tokio::spawn(async move { ask(&upstream, &format!("{i}."), Udp).await.unwrap() })
        })
        .collect();
    for one in all {
        one.await.unwrap();
    }
    let ports: BTreeSet<u16> = server.seen().iter().map(|seen| seen.from.port()).collect();
    assert_eq!(ports.len(), 50);
}

#[test]
fn sockets_are_kept_until_they_expire() {
    on_tokio_and_worker(async || {
        let pause = Duration::from_millis(150);
        let short = Duration::from_millis(50);
        type Change = fn(&mut upstream::Options, Duration);
        let cases: [(&str, Change, usize, f64); 4] = [
            ("kept", |_, _| {}, 1, 2.0),
            ("idle for too long", |options, short| options.expire = short, 3, 0.0),
            ("too old", |options, short| options.max_age = Some(short), 3, 0.0),
            ("one is kept", |options, _| options.max_idle = 1, 1, 2.0),
        ];
        for (what, change, ports, hits) in cases {
            let server = ScriptedUpstream::start().unwrap();
            server.otherwise([good()]);
            let upstream = to(&server, |options| change(options, short));
            for _ in 0..3 {
                ask(&upstream, "x.", Udp).await.unwrap();
                tokio::time::sleep(pause).await;
            }
            let used: BTreeSet<u16> = server.seen().iter().map(|seen| seen.from.port()).collect();
            assert_eq!(used.len(), ports, "{what}");
            let labels = format!("proto=\"udp\",proxy_name=\"forward\",to=\"{}\"", server.addr());
            assert_eq!(metric("coredns_proxy_conn_cache_hits_total", &labels), hits, "{what}");
            assert_eq!(metric("coredns_proxy_conn_cache_misses_total", &labels), 3.0 - hits, "{what}");
            let labels = format!("proxy_name=\"forward\",rcode=\"NOERROR\",to=\"{}\"", server.addr());
            assert_eq!(metric("coredns_proxy_request_duration_seconds_count", &labels), 3.0, "{what}");
        }
    });
}

#[test]
fn what_failed_is_not_used_again() {
    on_tokio_and_worker(async || {
        let server = ScriptedUpstream::start().unwrap();
        server.on("x", [good(), Step::Silence, good(), Step::WrongQuestion, good()]);
        let upstream = to(&server, |options| options.read_timeout = Duration::from_millis(50));
        for _ in 0..5 {
            let _ = ask(&upstream, "x.", Udp).await;
        }
        // A query whose future is dropped in flight.
        server.otherwise([Step::Silence]);
        let gone = tokio::time::timeout(Duration::from_millis(20), ask(&upstream, "y.", Udp)).await;
        assert!(gone.is_err());
        let _ = ask(&upstream, "x.", Udp).await;
        let ports: Vec<u16> = server.seen().iter().map(|seen| seen.from.port()).collect();
        let same: Vec<bool> = ports.windows(2).map(|pair| pair[0] == pair[1]).collect();
        assert_eq!(same, [true, false, true, false, true, false]);
    });
}

#[test]
fn mixed_case() {
    on_tokio_and_worker(async || {
        let server = ScriptedUpstream::start().unwrap();
        server.on("keeps", [good()]);
        server.on("loses", [good().in_lower_case()]);
        let upstream = to(&server, |options| options.mixed_case = true);
        let name = "Keeps.a-name-with-many-letters.example.";
        let answer = ask(&upstream, name, Udp).await.unwrap();
        assert_eq!(answer.message[12..12 + name.len() + 1], query(name)[12..12 + name.len() + 1]);
        let sent = server.seen().pop().unwrap().name;
        assert!(sent != name && sent.eq_ignore_ascii_case(name), "{sent}");
        let lost = ask(&upstream, "loses.a-name-with-many-letters.example.", Udp).await;
        assert_eq!(lost.unwrap_err(), Error::WrongQuestion);
    });
}

#[test]
fn from_a_source_address() {
    on_tokio_and_worker(async || {
        let server = ScriptedUpstream::start().unwrap();
        server.otherwise([good()]);
        let upstream = to(&server, |options| options.source = Some([127, 0, 0, 9].into()));
        for network in [Network::Udp, Network::Tcp] {
            ask(&upstream, "x.", network).await.unwrap();
            assert_eq!(server.seen().pop().unwrap().from.ip(), std::net::IpAddr::from([127, 0, 0, 9]));
        }
        let upstream = to(&server, |options| options.source = Some([192, 0, 2, 77].into()));
        for (network, text) in [
            (Network::Udp, "dial udp 192.0.2.77:0->HOST: bind: cannot assign requested address"),
            (Network::Tcp, "dial tcp 192.0.2.77:0->HOST: bind: cannot assign requested address"),
        ] {
            assert_eq!(summary(&ask(&upstream, "x.", network).await), text);
        }
    });
}

#[test]
fn a_stopped_upstream_keeps_no_sockets() {
    on_tokio_and_worker(async || {
        let server = ScriptedUpstream::start().unwrap();
        server.otherwise([good()]);
        let upstream = to(&server, |_| {});
        ask(&upstream, "x.", Udp).await.unwrap();
        upstream.stop();
        for _ in 0..2 {
            ask(&upstream, "x.", Udp).await.unwrap();
        }
        let ports: BTreeSet<u16> = server.seen().iter().map(|seen| seen.from.port()).collect();
        assert_eq!(ports.len(), 3);
    });
}
