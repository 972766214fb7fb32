//! Which replies are cached, for how long, and what clients get.

use super::fixture::{Fixture, advance_clock};
use crate::testing::harness::{answer, ask, service};

#[test]
fn cached_replies_and_their_lifetime() {
    for (reply, first, seconds) in [
        // The scripted reply, the client's reply, and for how many seconds it is cached.
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
        let fixture = Fixture::new("");
        fixture.set_reply(reply);
        assert_eq!(fixture.ask("www.example."), first, "{reply}");
        if seconds > 0 {
            advance_clock(seconds - 1);
            fixture.ask("www.example.");
            assert_eq!(fixture.queries(), 1, "{reply} is not cached");
            advance_clock(1);
        }
        fixture.ask("www.example.");
        assert_eq!(fixture.queries(), 2, "{reply} is cached too long");
    }
}

#[test]
fn bounds_of_the_options() {
    for (options, reply, expected) in [
        ("100", "a 3000 10.0.0.1", 100),
        ("100", "nxdomain 3000", 100),
        ("100 {|success 1000 20|}", "a 3000 10.0.0.1", 20),
        ("{|success 1000 20 10|}", "a 3 10.0.0.1", 10),
        ("{|denial 1000 20|}", "nxdomain 3000", 20),
        ("{|denial 1000 20 10|}", "nodata 3", 10),
        // If MINTTL is above TTL, TTL wins.
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
        // Cached, but for less than a second.
        ("{|servfail 500ms|}", "servfail", 0),
        ("{|servfail 1500ms|}", "servfail", 1),
    ] {
        let fixture = Fixture::new(options);
        fixture.set_reply(reply);
        let first = fixture.ask("www.example.");
        if first.contains(" IN ") {
            assert!(first.contains(&format!(" {expected} IN ")), "{options} {reply}: {first}");
        }
        if expected > 0 {
            advance_clock(expected - 1);
            fixture.ask("www.example.");
            assert_eq!(fixture.queries(), 1, "{options} {reply}");
            advance_clock(1);
        }
        fixture.ask("www.example.");
        assert_eq!(fixture.queries(), 2, "{options} {reply}");
    }
}

#[test]
fn ttls_count_down_without_keepttl() {
    let fixture = Fixture::new("");
    fixture.check("www.example.", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.1");
    advance_clock(12);
    fixture.check("www.example.", "NOERROR qr / answer: www.example. 18 IN A 10.0.0.1");
    let fixture = Fixture::new("{|keepttl|}");
    fixture.check("www.example.", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.1");
    advance_clock(12);
    fixture.check("www.example.", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.1");
    advance_clock(18);
    fixture.set_reply("a 30 10.0.0.2");
    fixture.check("www.example.", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.2");
}

#[test]
fn owners_keep_the_spelling_of_the_first_query() {
    let fixture = Fixture::new("");
    fixture.set_reply("alias-a 30");
    let lines = |name: &str| {
        format!(
            "NOERROR qr / answer: {name} 30 IN CNAME target.example. / answer: target.example. 30 IN A 10.0.0.7"
        )
    };
    for name in ["WWW.Example.", "www.example.", "WWW.Example.", "wWW.eXAMPLE."] {
        fixture.check(name, &lines("WWW.Example."));
    }
    assert_eq!(fixture.queries(), 1);
}

#[test]
fn the_cache_key_is_name_type_class_do_cd() {
    let fixture = Fixture::new("");
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
        // Only opcode QUERY is looked up.
        ("www.example. A notify", 7),
        ("www.example. A notify", 8),
    ] {
        fixture.ask(question);
        assert_eq!(fixture.queries(), asked, "{question}");
    }
}

#[test]
fn flags_of_hits() {
    let fixture = Fixture::new("");
    fixture.set_reply("aa 30 10.0.0.1");
    let record = "answer: www.example. 30 IN A 10.0.0.1";
    for (question, flags) in [
        // The first query fills the cache. AD is only for clients that set AD or DO.
        ("www.example. A", "qr,aa,ra"),
        ("www.example. A", "qr,aa,ra"),
        ("www.example. A ad", "qr,aa,ra,ad"),
        ("www.example. A rd", "qr,aa,rd,ra"),
    ] {
        fixture.check(question, &format!("NOERROR {flags} / {record}"));
    }
    assert_eq!(fixture.last_seen(), "udp ad");
    fixture.check("www.example. A do", &format!("NOERROR qr,aa,ra,ad / {record} / opt: 4096 do"));
    fixture.check("www.example. A do", &format!("NOERROR qr,aa,ra,ad / {record} / opt: 4096 do"));
    fixture.check("www.example. A cd", &format!("NOERROR qr,aa,ra,cd / {record}"));
    assert_eq!(fixture.queries(), 3);
}

#[test]
fn zones_and_disabled_zones() {
    for (cache, reply, name, kept) in [
        ("", "a 30 10.0.0.1", "www.example.", true),
        ("example", "a 30 10.0.0.1", "www.example.", true),
        ("example", "a 30 10.0.0.1", "www.other.", false),
        ("60 example other", "a 30 10.0.0.1", "WWW.Other.", true),
        // An invalid zone matches nothing.
        ("::", "a 30 10.0.0.1", "www.example.", false),
        ("{|disable success|}", "a 30 10.0.0.1", "www.example.", false),
        ("{|disable success|}", "nxdomain 30", "www.example.", true),
        ("{|disable denial|}", "nxdomain 30", "www.example.", false),
        ("{|disable denial|}", "servfail", "www.example.", false),
        ("{|disable denial|}", "fail", "www.example.", false),
        ("{|disable denial|}", "a 30 10.0.0.1", "www.example.", true),
        ("{|disable denial sub.example|}", "nxdomain 30", "www.example.", true),
        ("{|disable denial x Sub.Example|}", "nxdomain 30", "www.sub.example.", false),
        // Both: such names are not looked up.
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
        let fixture = Fixture::new(cache);
        fixture.set_reply(reply);
        fixture.ask(name);
        fixture.ask(name);
        assert_eq!(fixture.queries() == 1, kept, "{cache}: {name} {reply}");
    }
    // Not cached, but with the TTL of a cached reply.
    for cache in ["20 {|disable success|}", "20 {|disable success|disable denial|}"] {
        let fixture = Fixture::new(cache);
        fixture.check("www.example.", "NOERROR qr / answer: www.example. 20 IN A 10.0.0.1");
    }
}

#[test]
fn in_front_of_real_plugins() {
    let erratic = service(".:53 {\ncache\nerratic {\ndrop 0\n}\n}");
    for (question, expected) in [
        ("WWW.Example. A", "NOERROR qr,aa\nanswer: WWW.Example. 5 IN A 192.0.2.53\n"),
        ("www.example. A", "NOERROR qr,aa\nanswer: WWW.Example. 5 IN A 192.0.2.53\n"),
        // A failure without a reply and without a reason.
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
fn a_query_past_its_deadline_is_not_cached() {
    let fixture = Fixture::with(". {|cancel 30ms|cache|source|}");
    fixture.set_delay(std::time::Duration::from_millis(200));
    fixture.check("www.example.", "SERVFAIL qr");
    fixture.set_delay(std::time::Duration::ZERO);
    fixture.check("www.example.", "NOERROR qr / answer: www.example. 30 IN A 10.0.0.1");
}

#[test]
fn hits_keep_the_wildcard_metadata() {
    let fixture = Fixture::with(". {|metadata|reader|cache|source|}");
    for (name, wildcard) in [("wild.example.", "*.example."), ("tame.example.", "none")] {
        for _ in 0..2 {
            let notes = ask(&fixture.service, name).notes;
            let note = notes.iter().find(|note| note.plugin == "reader").expect("a note");
            assert_eq!(note.text, wildcard, "{name}");
        }
    }
    assert_eq!(fixture.queries(), 2);
}

#[test]
fn explain_notes() {
    let fixture = Fixture::new("{|serve_stale|disable denial|}");
    let notes = |question: &str| {
        let notes = ask(&fixture.service, question).notes;
        let texts = notes.into_iter().filter(|note| note.plugin == "cache").map(|note| note.text);
        texts.filter(|text| !text.starts_with("answered")).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(notes("www.example."), "miss; cached for 30 s");
    advance_clock(10);
    assert_eq!(notes("www.example."), "hit: cached 10 s ago, 20 s left");
    advance_clock(33);
    assert_eq!(notes("www.example."), "stale: expired 13 s ago");
    for (reply, why) in [
        ("tc 30", "truncated"),
        ("nxdomain-alone", "NXDOMAIN without an SOA record"),
        ("alias 30", "CNAME target not in the reply, and no SOA record"),
        ("refused", "error reply, contradictory reply or expired signature"),
        ("nxdomain 30", "disabled for this zone"),
    ] {
        fixture.set_reply(reply);
        assert_eq!(notes("other.example."), format!("miss; not cached: {why}"));
    }
}
