//! What is kept, for how long, and what clients see of it.

use super::source::{Setting, later};
use crate::harness::{answer, ask, service};

#[test]
fn what_is_kept_and_for_how_long() {
    for (says, first, seconds) in [
        // What the source says, what the client gets, and for how many seconds the source is not asked again.
        ("a 30 10.0.0.1", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.1", 30),
        ("a 4000 10.0.0.1", "NOERROR qr / answer: www.example. 3600 IN A 10.0.0.1", 3600),
        ("a 1 10.0.0.1", "NOERROR qr / answer: www.example. 5 IN A 10.0.0.1", 5),
        ("a 0 10.0.0.1", "NOERROR qr / answer: www.example. 5 IN A 10.0.0.1", 5),
        (
            "nxdomain 30",
            "NXDOMAIN qr / authority: example. 30 IN SOA ns.example. admin.example. 1 1 1 1 1",
            30,
        ),
        (
            "nxdomain 3600",
            "NXDOMAIN qr / authority: example. 1800 IN SOA ns.example. admin.example. 1 1 1 1 1",
            1800,
        ),
        ("nxdomain-alone", "NXDOMAIN qr", 0),
        ("nodata 30", "NOERROR qr / authority: example. 30 IN SOA ns.example. admin.example. 1 1 1 1 1", 30),
        ("empty", "NOERROR qr", 5),
        ("referral 300", "NOERROR qr / authority: www.example. 5 IN NS ns.", 5),
        (
            "alias-a 20",
            "NOERROR qr / answer: www.example. 20 IN CNAME target.example. / answer: target.example. 20 IN A 10.0.0.7",
            20,
        ),
        ("alias 20", "NOERROR qr / answer: www.example. 20 IN CNAME target.example.", 0),
        (
            "alias-nodata 2000",
            "NOERROR qr / answer: www.example. 1800 IN CNAME target.example. / \
             authority: example. 1800 IN SOA ns.example. admin.example. 1 1 1 1 1",
            1800,
        ),
        ("tc 30", "NOERROR qr,tc / answer: www.example. 30 IN A 10.0.0.1", 0),
        ("servfail", "SERVFAIL qr", 5),
        ("notimp", "NOTIMP qr", 5),
        ("refused", "REFUSED qr", 0),
        ("fail", "SERVFAIL qr", 5),
        ("fail-silent", "SERVFAIL qr", 0),
        ("fail-refused", "REFUSED qr", 0),
        ("drop", "dropped", 0),
    ] {
        let setting = Setting::new("");
        setting.says(says);
        assert_eq!(setting.ask("www.example."), first, "{says}");
        if seconds > 0 {
            later(seconds - 1);
            setting.ask("www.example.");
            assert_eq!(setting.asked(), 1, "{says} is not kept");
            later(1);
        }
        setting.ask("www.example.");
        assert_eq!(setting.asked(), 2, "{says} is kept too long");
    }
}

#[test]
fn bounds_of_the_options() {
    for (options, says, expected) in [
        ("100", "a 3000 10.0.0.1", 100),
        ("100", "nxdomain 3000", 100),
        ("100 {|success 1000 20|}", "a 3000 10.0.0.1", 20),
        ("{|success 1000 20 10|}", "a 3 10.0.0.1", 10),
        ("{|denial 1000 20|}", "nxdomain 3000", 20),
        ("{|denial 1000 20 10|}", "nodata 3", 10),
        // If the bounds cross, the upper one wins.
        ("{|success 1000 20 50|}", "a 3 10.0.0.1", 20),
        ("{|success 1000 20 50|}", "a 300 10.0.0.1", 20),
        ("{|success 1000 7200|}", "a 7000 10.0.0.1", 7000),
        ("{|success 1000 3600 0|}", "a 3 10.0.0.1", 3),
        ("{|success 1000 3600 0|}", "a 0 10.0.0.1", 0),
        ("3", "empty", 3),
        ("{|servfail 10s|}", "servfail", 10),
        ("{|servfail 10s|}", "fail", 10),
        ("{|servfail 0|}", "servfail", 0),
        ("{|servfail 0|}", "fail", 0),
        // Kept, but with no whole second to live.
        ("{|servfail 500ms|}", "servfail", 0),
        ("{|servfail 1500ms|}", "servfail", 1),
    ] {
        let setting = Setting::new(options);
        setting.says(says);
        let first = setting.ask("www.example.");
        if first.contains(" IN ") {
            assert!(first.contains(&format!(" {expected} IN ")), "{options} {says}: {first}");
        }
        if expected > 0 {
            later(expected - 1);
            setting.ask("www.example.");
            assert_eq!(setting.asked(), 1, "{options} {says}");
            later(1);
        }
        setting.ask("www.example.");
        assert_eq!(setting.asked(), 2, "{options} {says}");
    }
}

#[test]
fn records_age() {
    let setting = Setting::new("");
    setting.check("www.example.", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.1");
    later(12);
    setting.check("www.example.", "NOERROR qr / answer: www.example. 18 IN A 10.0.0.1");
    let setting = Setting::new("{|keepttl|}");
    setting.check("www.example.", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.1");
    later(12);
    setting.check("www.example.", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.1");
    later(18);
    setting.says("a 30 10.0.0.2");
    setting.check("www.example.", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.2");
}

#[test]
fn owners_keep_the_spelling_of_the_first_query() {
    let setting = Setting::new("");
    setting.says("alias-a 30");
    let lines = |name: &str| {
        format!(
            "NOERROR qr / answer: {name} 30 IN CNAME target.example. / answer: target.example. 30 IN A 10.0.0.7"
        )
    };
    for name in ["WWW.Example.", "www.example.", "WWW.Example.", "wWW.eXAMPLE."] {
        setting.check(name, &lines("WWW.Example."));
    }
    assert_eq!(setting.asked(), 1);
}

#[test]
fn what_makes_questions_different() {
    let setting = Setting::new("");
    for (question, asked) in [
        ("www.example.", 1),
        ("www.example. A rd ad", 1),
        ("www.example. A tcp", 1),
        ("www.example. A size=4096", 1),
        ("www.example. AAAA", 2),
        ("www.example. A do", 3),
        ("www.example. A cd", 4),
        ("www.example. A do cd", 5),
        ("www.example. A do cd", 5),
        ("ww.example.", 6),
        ("www.example. A", 6),
        // Only plain queries are looked up.
        ("www.example. A notify", 7),
        ("www.example. A notify", 8),
    ] {
        setting.ask(question);
        assert_eq!(setting.asked(), asked, "{question}");
    }
}

#[test]
fn flags_of_hits() {
    let setting = Setting::new("");
    setting.says("aa 30 10.0.0.1");
    let record = "answer: www.example. 30 IN A 10.0.0.1";
    for (question, flags) in [
        // The first query brings what the others get. AD is only for those who want it.
        ("www.example. A", "qr,aa,ra"),
        ("www.example. A", "qr,aa,ra"),
        ("www.example. A ad", "qr,aa,ra,ad"),
        ("www.example. A rd", "qr,aa,rd,ra"),
    ] {
        setting.check(question, &format!("NOERROR {flags} / {record}"));
    }
    assert_eq!(setting.last_seen(), "udp ad");
    setting.check("www.example. A do", &format!("NOERROR qr,aa,ra,ad / {record} / opt: 4096 do"));
    setting.check("www.example. A do", &format!("NOERROR qr,aa,ra,ad / {record} / opt: 4096 do"));
    setting.check("www.example. A cd", &format!("NOERROR qr,aa,ra,cd / {record}"));
    assert_eq!(setting.asked(), 3);
}

#[test]
fn zones_and_disabled_zones() {
    for (cache, says, name, kept) in [
        ("", "a 30 10.0.0.1", "www.example.", true),
        ("example", "a 30 10.0.0.1", "www.example.", true),
        ("example", "a 30 10.0.0.1", "www.other.", false),
        ("60 example other", "a 30 10.0.0.1", "WWW.Other.", true),
        // What is no zone holds nothing.
        ("::", "a 30 10.0.0.1", "www.example.", false),
        ("{|disable success|}", "a 30 10.0.0.1", "www.example.", false),
        ("{|disable success|}", "nxdomain 30", "www.example.", true),
        ("{|disable denial|}", "nxdomain 30", "www.example.", false),
        ("{|disable denial|}", "servfail", "www.example.", false),
        ("{|disable denial|}", "fail", "www.example.", false),
        ("{|disable denial|}", "a 30 10.0.0.1", "www.example.", true),
        ("{|disable denial sub.example|}", "nxdomain 30", "www.example.", true),
        ("{|disable denial x Sub.Example|}", "nxdomain 30", "www.sub.example.", false),
        // Both: such names are not even looked up.
        ("{|disable success|disable denial|}", "a 30 10.0.0.1", "www.example.", false),
        ("{|disable success|disable denial|}", "servfail", "www.example.", false),
        (
            "{|disable success example|disable denial sub.example|}",
            "a 30 10.0.0.1",
            "www.sub.example.",
            false,
        ),
        ("{|disable success example|disable denial sub.example|}", "nxdomain 30", "www.sub.example.", false),
        ("{|disable success example|disable denial sub.example|}", "nxdomain 30", "www.example.", true),
        ("{|disable success sub.example|disable denial example|}", "a 30 10.0.0.1", "www.example.", true),
    ] {
        let setting = Setting::new(cache);
        setting.says(says);
        setting.ask(name);
        setting.ask(name);
        assert_eq!(setting.asked() == 1, kept, "{cache}: {name} {says}");
    }
    // Not kept, but with the time to live it would have had.
    for cache in ["20 {|disable success|}", "20 {|disable success|disable denial|}"] {
        let setting = Setting::new(cache);
        setting.check("www.example.", "NOERROR qr / answer: www.example. 20 IN A 10.0.0.1");
    }
}

#[test]
fn before_real_plugins() {
    let erratic = service(".:53 {\ncache\nerratic {\ndrop 0\n}\n}");
    for (question, expected) in [
        ("WWW.Example. A", "NOERROR qr,aa\nanswer: WWW.Example. 5 IN A 192.0.2.53\n"),
        ("www.example. A", "NOERROR qr,aa\nanswer: WWW.Example. 5 IN A 192.0.2.53\n"),
        // Nobody wrote this failure, and nobody said why.
        ("www.example. TXT", "SERVFAIL qr\n"),
    ] {
        assert_eq!(answer(&erratic, question), expected, "{question}");
    }
    let transfer = answer(&erratic, "example. AXFR tcp");
    assert!(transfer.contains("answer: example. 5 IN NS a.example.\n"), "{transfer}");
    let who = service(".:53 {\ncache 100\nwhoami\n}");
    let first = answer(&who, "a. A");
    assert!(first.contains("additional: a. 5 IN A 10.240.0.1\n"), "{first}");
    // As in CoreDNS, the next client gets the first one's address.
    assert_eq!(answer(&who, "a. A tcp from=10.9.9.9"), first);
    let hosts = service(".:53 {\ncache 20\nhosts {\n10.0.0.2 inline.example\nttl 60\n}\n}");
    for _ in 0..2 {
        let expected = "NOERROR qr,aa\nanswer: inline.example. 20 IN A 10.0.0.2\n";
        assert_eq!(answer(&hosts, "Inline.example. A"), expected);
    }
    let local = service(".:53 {\nlocal\ncache\nwhoami\n}");
    assert_eq!(answer(&local, "localhost. A"), "NOERROR qr\nanswer: localhost. 604800 IN A 127.0.0.1\n");
}

#[test]
fn a_query_out_of_time_is_no_failure_of_the_source() {
    let setting = Setting::with(". {|cancel 30ms|cache|source|}");
    setting.takes(std::time::Duration::from_millis(200));
    setting.check("www.example.", "SERVFAIL qr");
    setting.takes(std::time::Duration::ZERO);
    setting.check("www.example.", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.1");
}

#[test]
fn wildcards_are_told_from_the_cache_too() {
    let setting = Setting::with(". {|metadata|reader|cache|source|}");
    for (name, wildcard) in [("wild.example.", "*.example."), ("tame.example.", "none")] {
        for _ in 0..2 {
            let notes = ask(&setting.service, name).notes;
            let note = notes.iter().find(|note| note.plugin == "reader").expect("a note");
            assert_eq!(note.text, wildcard, "{name}");
        }
    }
    assert_eq!(setting.asked(), 2);
}

#[test]
fn explained() {
    let setting = Setting::new("{|serve_stale|disable denial|}");
    let notes = |question: &str| {
        let notes = ask(&setting.service, question).notes;
        let texts = notes.into_iter().filter(|note| note.plugin == "cache").map(|note| note.text);
        texts.filter(|text| !text.starts_with("answered")).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(notes("www.example."), "miss; kept for 30 s");
    later(10);
    assert_eq!(notes("www.example."), "hit: kept 10 s ago, 20 s left");
    later(33);
    assert_eq!(notes("www.example."), "stale: over for 13 s");
    for (says, why) in [
        ("tc 30", "it is truncated"),
        ("nxdomain-alone", "it denies a name without an SOA record"),
        ("alias 30", "its aliases lead nowhere and there is no SOA record"),
        ("refused", "it is an error, a contradiction or has an expired signature"),
        ("nxdomain 30", "disabled for this zone"),
    ] {
        setting.says(says);
        assert_eq!(notes("other.example."), format!("miss; not kept: {why}"));
    }
}
