//! Entries whose time is over.

use std::time::{Duration, Instant};

use super::super::refresh::TASK;
use super::source::{Setting, later};

const OLD: &str = "NOERROR qr / answer: www.example. 0 IN A 10.0.0.1";
const NEW: &str = "NOERROR qr / answer: www.example. 60 IN A 10.0.0.2";

/// A cache with an entry that ended ten seconds ago, before a source that now says something else.
fn stale(options: &str, says: &str) -> Setting {
    let setting = Setting::new(&format!("{{|{options}|}}"));
    setting.ask("www.example.");
    later(40);
    setting.says(says);
    setting
}

#[test]
fn immediate() {
    let setting = stale("serve_stale", "a 60 10.0.0.2");
    setting.check("www.example.", OLD);
    setting.eventually("www.example.", NEW);
    assert_eq!(setting.asked(), 2);
    assert_eq!(setting.last_seen(), "tcp ad", "nobody asks, and so nothing need be truncated");
}

#[test]
fn only_for_so_long() {
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
        let setting = Setting::new(&format!("{{|{options}|}}"));
        setting.ask("www.example.");
        later(30 + over);
        setting.says("a 60 10.0.0.2");
        let expected = if served { OLD } else { NEW };
        assert_eq!(setting.ask("www.example."), expected, "{options} after {over} s");
    }
}

#[test]
fn times_to_live_of_stale_records() {
    for (options, ttl) in [
        ("serve_stale 1h", 0),
        ("serve_stale 1h immediate 30s", 30),
        ("serve_stale 1h verify 0 7s", 7),
        ("serve_stale 1h|keepttl", 30),
        ("serve_stale 1h immediate 8s|keepttl", 8),
    ] {
        let setting = stale(options, "fail");
        let expected = format!("NOERROR qr / answer: www.example. {ttl} IN A 10.0.0.1");
        assert_eq!(setting.ask("www.example."), expected, "{options}");
    }
}

#[test]
fn what_takes_the_place_of_a_stale_answer() {
    let soa = "authority: example. 60 IN SOA ns.example. admin.example. 1 1 1 1 1";
    let nxdomain = format!("NXDOMAIN qr / {soa}");
    let nodata = format!("NOERROR qr / {soa}");
    for (says, verified) in [
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
            let setting = stale(options, says);
            assert_eq!(setting.ask("www.example."), verified, "{options}: {says}");
        }
        // The first client gets the old answer in any case; the next one sees what came of the refresh.
        let setting = stale("serve_stale 1h immediate", says);
        setting.check("www.example.", OLD);
        setting.wait_for_asked(2);
        let kept = if says == "nxdomain-alone" { OLD } else { verified };
        assert_eq!(setting.ask("www.example."), kept, "immediate: {says}");
    }
}

#[test]
fn a_positive_refresh_puts_the_denial_out() {
    for options in ["serve_stale", "serve_stale 1h verify", "serve_stale 1h verify 1s"] {
        let setting = Setting::new(&format!("{{|{options}|}}"));
        setting.says("nxdomain 30");
        setting.ask("www.example.");
        later(40);
        setting.says("a 60 10.0.0.2");
        setting.ask("www.example.");
        setting.wait_for_asked(2);
        setting.check("www.example.", NEW);
        assert_eq!(setting.asked(), 2, "{options}");
    }
}

#[test]
fn failed_refreshes_are_not_tried_at_once() {
    for options in
        ["serve_stale 1h immediate 0 20s", "serve_stale 1h verify 0 0 20s", "serve_stale 1h verify 1s 0 20s"]
    {
        let setting = stale(options, "fail");
        setting.check("www.example.", OLD);
        setting.wait_for_asked(2);
        later(19);
        setting.check("www.example.", OLD);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(setting.asked(), 2, "{options}");
        later(1);
        setting.check("www.example.", OLD);
        setting.wait_for_asked(3);
    }
    let setting = stale("serve_stale 1h verify", "fail");
    setting.check("www.example.", OLD);
    setting.check("www.example.", OLD);
    assert_eq!(setting.asked(), 3, "without a time to wait every query tries");
}

#[test]
fn verifying_takes_no_longer_than_it_may() {
    let setting = stale("serve_stale 1h verify 50ms", "a 60 10.0.0.2");
    setting.takes(Duration::from_secs(1));
    let start = Instant::now();
    setting.check("www.example.", OLD);
    assert!(start.elapsed() >= Duration::from_millis(50));
    // Another one does not ask as well while that goes on.
    setting.check("www.example.", OLD);
    assert!(start.elapsed() < Duration::from_millis(900));
    setting.wait_for_asked(2);
    assert_eq!(setting.last_seen(), "udp ad");
    setting.eventually("www.example.", NEW);
    assert_eq!(setting.asked(), 2);
}

#[test]
fn a_panic_while_refreshing_is_a_failed_refresh() {
    for options in ["serve_stale", "serve_stale 1h verify 10s"] {
        let panics = supervise::panics(TASK);
        let setting = stale(options, "panic");
        setting.check("www.example.", OLD);
        setting.wait_for_asked(2);
        setting.says("a 60 10.0.0.2");
        setting.eventually("www.example.", NEW);
        assert_eq!(setting.asked(), 3, "{options}");
        // Tests beside this one panic too.
        assert!(supervise::panics(TASK) > panics, "{options}");
    }
}

#[test]
fn prefer_positive() {
    let policy = "serve_stale 1h verify|serve_stale_policy prefer_positive";
    for says in ["nxdomain 60", "nodata 60", "servfail", "empty", "referral 60", "alias 60", "fail", "tc 60"]
    {
        let setting = stale(policy, says);
        for _ in 0..2 {
            assert_eq!(setting.ask("www.example."), OLD, "{says}");
        }
        setting.says("a 60 10.0.0.2");
        assert_eq!(setting.ask("www.example."), NEW, "{says}");
        assert_eq!(setting.ask("www.example."), NEW, "{says}");
        assert_eq!(setting.asked(), 4, "{says}");
    }
    // In the background too; and what does not answer never replaces what did.
    let setting = stale("serve_stale|serve_stale_policy prefer_positive", "empty");
    setting.check("www.example.", OLD);
    setting.wait_for_asked(2);
    setting.check("www.example.", OLD);
    setting.wait_for_asked(3);
    setting.says("a 60 10.0.0.2");
    setting.check("www.example.", OLD);
    setting.eventually("www.example.", NEW);
    // When the last good answer is too old, the denial counts.
    let setting = stale("serve_stale 20s verify|serve_stale_policy prefer_positive", "nxdomain 600");
    setting.check("www.example.", OLD);
    later(60);
    assert!(setting.ask("www.example.").starts_with("NXDOMAIN"));
    assert_eq!(setting.asked(), 2);
}
