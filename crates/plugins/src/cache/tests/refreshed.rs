//! Popular entries are fetched again before they end.

use super::source::{Setting, later};

#[test]
fn popular_and_nearly_over() {
    for (options, queries, age, fetched) in [
        // 30 seconds to live: the last three count with 10 %.
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
        let setting = Setting::new(&format!("{{|{options}|}}"));
        setting.ask("www.example.");
        for _ in 1..queries {
            setting.ask("www.example.");
        }
        later(age);
        setting.says("a 60 10.0.0.2");
        // The query that causes it still gets the old answer.
        assert!(setting.ask("www.example.").contains("10.0.0.1"));
        setting.wait_for_asked(if fetched { 2 } else { 1 });
        let expected = if fetched { "60 IN A 10.0.0.2" } else { "IN A 10.0.0.1" };
        let got = setting.ask("www.example.");
        assert!(got.contains(expected), "{options}, {queries} queries, {age} s: {got}");
        if fetched {
            assert_eq!(setting.last_seen(), "tcp ad", "{options}");
        }
    }
}

#[test]
fn a_pause_starts_the_count_again() {
    let setting = Setting::new("{|success 1000 3600|prefetch 3 10s 90%|}");
    setting.says("a 100 10.0.0.1");
    setting.ask("www.example.");
    // Never three in a row.
    for pause in [5, 9, 11, 1] {
        later(pause);
        setting.ask("www.example.");
    }
    setting.wait_for_asked(1);
    later(1);
    setting.ask("www.example.");
    setting.wait_for_asked(2);
}

#[test]
fn the_new_entry_is_as_popular_as_the_old_one() {
    let setting = Setting::new("{|prefetch 5|}");
    (0..6).for_each(|_| drop(setting.ask("www.example.")));
    later(28);
    setting.ask("www.example.");
    setting.wait_for_asked(2);
    later(28);
    setting.ask("www.example.");
    setting.wait_for_asked(3);
}

#[test]
fn one_at_a_time() {
    let setting = Setting::new("{|prefetch 1|}");
    setting.ask("www.example.");
    later(28);
    setting.takes(std::time::Duration::from_millis(100));
    (0..20).for_each(|_| drop(setting.ask("www.example.")));
    setting.wait_for_asked(2);
}

#[test]
fn a_failed_fetch_never_hides_the_answer() {
    for says in ["servfail", "fail", "refused", "tc 60", "drop"] {
        let setting = Setting::new("{|prefetch 1|}");
        setting.ask("www.example.");
        later(28);
        setting.says(says);
        setting.ask("www.example.");
        setting.wait_for_asked(2);
        setting.check("www.example.", "NOERROR qr / answer: www.example. 2 IN A 10.0.0.1");
    }
    // NOTIMP is a denial as good as any other: CoreDNS spares answers from SERVFAIL only.
    let setting = Setting::new("{|prefetch 1|}");
    setting.ask("www.example.");
    later(28);
    setting.says("notimp");
    setting.ask("www.example.");
    setting.wait_for_asked(2);
    setting.check("www.example.", "NOTIMP qr");
}
