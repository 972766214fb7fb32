//! Expired entries.

use std::time::{Duration, Instant};

use super::super::refresh::TASK;
use super::fixture::{Fixture, advance_clock};

const OLD: &str = "NOERROR qr / answer: www.example. 0 IN A 10.0.0.1";
const NEW: &str = "NOERROR qr / answer: www.example. 60 IN A 10.0.0.2";

/// A cache with an entry that expired ten seconds ago, in front of a source with a new reply.
fn stale(options: &str, reply: &str) -> Fixture {
    let fixture = Fixture::new(&format!("{{|{options}|}}"));
    fixture.ask("www.example.");
    advance_clock(40);
    fixture.set_reply(reply);
    fixture
}

#[test]
fn immediate_serves_stale_and_refreshes() {
    let fixture = stale("serve_stale", "a 60 10.0.0.2");
    fixture.check("www.example.", OLD);
    fixture.eventually("www.example.", NEW);
    assert_eq!(fixture.queries(), 2);
    assert_eq!(fixture.last_seen(), "tcp ad", "a background refresh is not truncated");
}

#[test]
fn entries_are_served_stale_for_a_limited_time() {
    for (options, over, served) in [
        ("serve_stale 20s", 0, true),
        ("serve_stale 20s", 19, true),
        ("serve_stale 20s", 20, false),
        ("serve_stale", 3599, true),
        ("serve_stale", 3600, false),
        ("serve_stale 0", 0, false),
        ("serve_stale 500ms", 0, false),
        ("keepttl", 0, false),
    ] {
        let fixture = Fixture::new(&format!("{{|{options}|}}"));
        fixture.ask("www.example.");
        advance_clock(30 + over);
        fixture.set_reply("a 60 10.0.0.2");
        let expected = if served { OLD } else { NEW };
        assert_eq!(fixture.ask("www.example."), expected, "{options} after {over} s");
    }
}

#[test]
fn ttls_of_stale_records() {
    for (options, ttl) in [
        ("serve_stale 1h", 0),
        ("serve_stale 1h immediate 30s", 30),
        ("serve_stale 1h verify 0 7s", 7),
        ("serve_stale 1h|keepttl", 30),
        ("serve_stale 1h immediate 8s|keepttl", 8),
    ] {
        let fixture = stale(options, "fail");
        let expected = format!("NOERROR qr / answer: www.example. {ttl} IN A 10.0.0.1");
        assert_eq!(fixture.ask("www.example."), expected, "{options}");
    }
}

#[test]
fn replies_that_replace_a_stale_entry() {
    let soa = "authority: example. 60 IN SOA ns.example. admin.example. 1 1 1 1 1";
    let nxdomain = format!("NXDOMAIN qr / {soa}");
    let nodata = format!("NOERROR qr / {soa}");
    for (reply, verified) in [
        ("a 60 10.0.0.2", NEW),
        ("nxdomain 60", &nxdomain),
        ("nodata 60", &nodata),
        ("empty", "NOERROR qr"),
        ("nxdomain-alone", "NXDOMAIN qr"),
        ("servfail", OLD),
        ("notimp", OLD),
        ("refused", OLD),
        ("fail", OLD),
        ("fail-silent", OLD),
        ("drop", OLD),
        ("tc 60", OLD),
    ] {
        for options in ["serve_stale 1h verify", "serve_stale 1h verify 2s", "serve_stale 1h verify 0 0 10s"]
        {
            let fixture = stale(options, reply);
            assert_eq!(fixture.ask("www.example."), verified, "{options}: {reply}");
        }
        // The first client always gets the old answer; the next one sees the result of the refresh.
        let fixture = stale("serve_stale 1h immediate", reply);
        fixture.check("www.example.", OLD);
        fixture.wait_for_queries(2);
        let kept = if reply == "nxdomain-alone" { OLD } else { verified };
        assert_eq!(fixture.ask("www.example."), kept, "immediate: {reply}");
    }
}

#[test]
fn a_positive_refresh_replaces_the_denial() {
    for options in ["serve_stale", "serve_stale 1h verify", "serve_stale 1h verify 1s"] {
        let fixture = Fixture::new(&format!("{{|{options}|}}"));
        fixture.set_reply("nxdomain 30");
        fixture.ask("www.example.");
        advance_clock(40);
        fixture.set_reply("a 60 10.0.0.2");
        fixture.ask("www.example.");
        fixture.wait_for_queries(2);
        fixture.check("www.example.", NEW);
        assert_eq!(fixture.queries(), 2, "{options}");
    }
}

#[test]
fn failed_refreshes_wait_for_the_recheck_interval() {
    for options in
        ["serve_stale 1h immediate 0 20s", "serve_stale 1h verify 0 0 20s", "serve_stale 1h verify 1s 0 20s"]
    {
        let fixture = stale(options, "fail");
        fixture.check("www.example.", OLD);
        fixture.wait_for_queries(2);
        advance_clock(19);
        fixture.check("www.example.", OLD);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(fixture.queries(), 2, "{options}");
        advance_clock(1);
        fixture.check("www.example.", OLD);
        fixture.wait_for_queries(3);
    }
    let fixture = stale("serve_stale 1h verify", "fail");
    fixture.check("www.example.", OLD);
    fixture.check("www.example.", OLD);
    assert_eq!(fixture.queries(), 3, "without a recheck interval every query tries");
}

#[test]
fn verify_waits_no_longer_than_its_timeout() {
    let fixture = stale("serve_stale 1h verify 50ms", "a 60 10.0.0.2");
    fixture.set_delay(Duration::from_secs(1));
    let start = Instant::now();
    fixture.check("www.example.", OLD);
    assert!(start.elapsed() >= Duration::from_millis(50));
    // A second query does not start another refresh meanwhile.
    fixture.check("www.example.", OLD);
    assert!(start.elapsed() < Duration::from_millis(900));
    fixture.wait_for_queries(2);
    assert_eq!(fixture.last_seen(), "udp ad");
    fixture.eventually("www.example.", NEW);
    assert_eq!(fixture.queries(), 2);
}

#[test]
fn a_panic_while_refreshing_is_a_failed_refresh() {
    for options in ["serve_stale", "serve_stale 1h verify 10s"] {
        let panics = supervise::panics(TASK);
        let fixture = stale(options, "panic");
        fixture.check("www.example.", OLD);
        fixture.wait_for_queries(2);
        fixture.set_reply("a 60 10.0.0.2");
        fixture.eventually("www.example.", NEW);
        assert_eq!(fixture.queries(), 3, "{options}");
        // Tests beside this one panic too.
        assert!(supervise::panics(TASK) > panics, "{options}");
    }
}

#[test]
fn prefer_positive() {
    let policy = "serve_stale 1h verify|serve_stale_policy prefer_positive";
    for reply in ["nxdomain 60", "nodata 60", "servfail", "empty", "referral 60", "alias 60", "fail", "tc 60"]
    {
        let fixture = stale(policy, reply);
        for _ in 0..2 {
            assert_eq!(fixture.ask("www.example."), OLD, "{reply}");
        }
        fixture.set_reply("a 60 10.0.0.2");
        assert_eq!(fixture.ask("www.example."), NEW, "{reply}");
        assert_eq!(fixture.ask("www.example."), NEW, "{reply}");
        assert_eq!(fixture.queries(), 4, "{reply}");
    }
    // In the background too; a reply that does not answer never replaces one that did.
    let fixture = stale("serve_stale|serve_stale_policy prefer_positive", "empty");
    fixture.check("www.example.", OLD);
    fixture.wait_for_queries(2);
    fixture.check("www.example.", OLD);
    fixture.wait_for_queries(3);
    fixture.set_reply("a 60 10.0.0.2");
    fixture.check("www.example.", OLD);
    fixture.eventually("www.example.", NEW);
    // When the last good answer is too old, the denial counts.
    let fixture = stale("serve_stale 20s verify|serve_stale_policy prefer_positive", "nxdomain 600");
    fixture.check("www.example.", OLD);
    advance_clock(60);
    assert!(fixture.ask("www.example.").starts_with("NXDOMAIN"));
    assert_eq!(fixture.queries(), 2);
}
