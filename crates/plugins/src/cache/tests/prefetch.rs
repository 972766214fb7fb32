//! Popular entries are prefetched before they expire.

use super::fixture::{Fixture, advance_clock};

#[test]
fn popular_entries_are_prefetched() {
    for (options, queries, age, fetched) in [
        // TTL 30: with 10 % the last three seconds count.
        ("prefetch 3", 3, 26, false),
        ("prefetch 3", 3, 27, true),
        ("prefetch 4", 3, 27, false),
        ("prefetch 0", 9, 29, false),
        ("prefetch 2 1m 50%", 2, 15, true),
        ("prefetch 2 1m 50%", 2, 14, false),
        ("prefetch 1", 1, 29, true),
        ("prefetch 1 -5s", 1, 29, true),
        ("prefetch 2 -5s", 9, 29, false),
    ] {
        let fixture = Fixture::new(&format!("{{|{options}|}}"));
        fixture.ask("www.example.");
        for _ in 1..queries {
            fixture.ask("www.example.");
        }
        advance_clock(age);
        fixture.set_reply("a 60 10.0.0.2");
        // The query that triggers the prefetch gets the old answer.
        assert!(fixture.ask("www.example.").contains("10.0.0.1"));
        fixture.wait_for_queries(if fetched { 2 } else { 1 });
        let expected = if fetched { "60 IN A 10.0.0.2" } else { "IN A 10.0.0.1" };
        let got = fixture.ask("www.example.");
        assert!(got.contains(expected), "{options}, {queries} queries, {age} s: {got}");
        if fetched {
            assert_eq!(fixture.last_seen(), "tcp ad", "{options}");
        }
    }
}

#[test]
fn a_pause_restarts_the_count() {
    let fixture = Fixture::new("{|success 1000 3600|prefetch 3 10s 90%|}");
    fixture.set_reply("a 100 10.0.0.1");
    fixture.ask("www.example.");
    // Never three in a row.
    for pause in [5, 9, 11, 1] {
        advance_clock(pause);
        fixture.ask("www.example.");
    }
    fixture.wait_for_queries(1);
    advance_clock(1);
    fixture.ask("www.example.");
    fixture.wait_for_queries(2);
}

#[test]
fn the_new_entry_inherits_popularity() {
    let fixture = Fixture::new("{|prefetch 5|}");
    (0..6).for_each(|_| drop(fixture.ask("www.example.")));
    advance_clock(28);
    fixture.ask("www.example.");
    fixture.wait_for_queries(2);
    advance_clock(28);
    fixture.ask("www.example.");
    fixture.wait_for_queries(3);
}

#[test]
fn one_prefetch_at_a_time() {
    let fixture = Fixture::new("{|prefetch 1|}");
    fixture.ask("www.example.");
    advance_clock(28);
    fixture.set_delay(std::time::Duration::from_millis(100));
    (0..20).for_each(|_| drop(fixture.ask("www.example.")));
    fixture.wait_for_queries(2);
}

#[test]
fn a_failed_prefetch_never_hides_the_answer() {
    for reply in ["servfail", "fail", "refused", "tc 60", "drop"] {
        let fixture = Fixture::new("{|prefetch 1|}");
        fixture.ask("www.example.");
        advance_clock(28);
        fixture.set_reply(reply);
        fixture.ask("www.example.");
        fixture.wait_for_queries(2);
        fixture.check("www.example.", "NOERROR qr / answer: www.example. 2 IN A 10.0.0.1");
    }
    // NOTIMP replaces an answer like any denial: CoreDNS exempts SERVFAIL only.
    let fixture = Fixture::new("{|prefetch 1|}");
    fixture.ask("www.example.");
    advance_clock(28);
    fixture.set_reply("notimp");
    fixture.ask("www.example.");
    fixture.wait_for_queries(2);
    fixture.check("www.example.", "NOTIMP qr");
}
