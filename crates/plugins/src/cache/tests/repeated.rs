//! Hits that are given again without being looked up.

use std::net::SocketAddr;

use metrics::registry;
use server::{Client, Exchange, Replied, Transport};
use wire::{Flags, NameBuf, Query, Reply, Rtype};

use super::source::{Setting, later};

struct Asker {
    exchange: Exchange,
    setting: Setting,
}

impl Asker {
    fn new(cache: &str) -> Asker {
        Asker { exchange: Exchange::new(), setting: Setting::new(cache) }
    }

    /// The time to live of the first record, or the code if there is none.
    fn ask(&mut self, name: &str) -> String {
        let here = SocketAddr::from(([127, 0, 0, 1], 53));
        let client = Client { remote: here, local: here, transport: Transport::Udp };
        let mut query = Query::ask(NameBuf::parse(name).expect("a name").as_name(), Rtype::A);
        query.flags.set(Flags::RD, true);
        let mut out = Vec::new();
        let replied = self.exchange.answer(&self.setting.service, client, &query.to_packet(), &mut out);
        assert_eq!(replied, Replied::Yes);
        let mut reply = Reply::new();
        reply.decode(&out).expect("a reply");
        reply.records().first().map_or_else(|| reply.rcode.to_string(), |record| record.ttl.to_string())
    }
}

#[test]
fn times_to_live_go_down() {
    let mut asker = Asker::new("3600 . {|}");
    for expected in ["30", "30", "30", "30"] {
        assert_eq!(asker.ask("a.example."), expected);
    }
    for (after, expected) in [(1, "29"), (1, "28"), (20, "8"), (7, "1"), (1, "30"), (5, "25")] {
        later(after);
        for _ in 0..4 {
            assert_eq!(asker.ask("a.example."), expected);
        }
    }
    assert_eq!(asker.setting.asked(), 2);
}

#[test]
fn what_comes_new_shows_when_the_old_is_over() {
    for (cache, says, then) in [
        ("3600", ["a 5 10.0.0.1", "5"], ["a 9 10.0.0.2", "9"]),
        ("3600 {|keepttl|}", ["a 5 10.0.0.1", "5"], ["nxdomain", "5"]),
    ] {
        let mut asker = Asker::new(cache);
        asker.setting.says(says[0]);
        (0..4).for_each(|_| assert_eq!(asker.ask("a.example."), says[1], "{cache}"));
        asker.setting.says(then[0]);
        (0..4).for_each(|_| assert_eq!(asker.ask("a.example."), says[1], "{cache}"));
        let asked = asker.setting.asked();
        later(6);
        let first = asker.ask("a.example.");
        assert_eq!(asker.setting.asked(), asked + 1, "{cache}");
        (0..4).for_each(|_| assert_eq!(asker.ask("a.example."), first, "{cache}"));
    }
}

/// With prefetching each query counts, so none is passed over.
#[test]
fn popular_names_are_fetched_again() {
    let mut asker = Asker::new("3600 {|prefetch 5 1h 90%|}");
    (0..4).for_each(|_| drop(asker.ask("a.example.")));
    later(10);
    (0..4).for_each(|_| drop(asker.ask("a.example.")));
    asker.setting.wait_for_asked(2);
}

#[test]
fn all_are_counted() {
    let mut asker = Asker::new("3600");
    asker.setting.says("nxdomain");
    (0..10).for_each(|_| drop(asker.ask("no.example.")));
    asker.setting.says("a 30 10.0.0.1");
    (0..10).for_each(|_| drop(asker.ask("a.example.")));
    let text = registry().encode();
    let value = |start: &str| {
        let mut found = text.lines().filter(|line| line.starts_with(start));
        found.next().and_then(|line| line.rsplit_once(' ')).map(|(_, value)| value.to_owned())
    };
    for (series, expected) in [
        ("coredns_cache_requests_total{", "20"),
        ("coredns_cache_misses_total{", "2"),
        ("coredns_cache_hits_total{server=\"dns://:53\",type=\"denial\"", "9"),
        ("coredns_cache_hits_total{server=\"dns://:53\",type=\"success\"", "9"),
    ] {
        assert_eq!(value(series).as_deref(), Some(expected), "{series}");
    }
}
