//! The small parts by themselves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use server::Slot;
use wire::{NameBuf, Query, Rtype};

use super::super::concurrent::Concurrent;
use super::super::policy::{Order, Policy};
use super::super::streak::Streak;
use super::super::{packet, remember, remembered};

#[test]
fn orders() {
    let robin = Policy::RoundRobin(AtomicU32::new(u32::MAX));
    let orders: Vec<Vec<usize>> = (0..4)
        .map(|_| {
            let order = robin.order(3);
            (0..3).map(|place| order.at(place)).collect()
        })
        .collect();
    assert_eq!(orders, [[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 1, 2]]);
    assert_eq!(Policy::Random.order(1), Order::First(0));
    let order = Policy::Random.order(5);
    let mut places: Vec<usize> = (0..5).map(|place| order.at(place)).collect();
    places.sort();
    assert_eq!(places, [0, 1, 2, 3, 4]);
}

#[test]
fn upstreams_are_remembered() {
    let mut slot = Slot::default();
    assert_eq!(remembered(&slot), None);
    for text in ["127.0.0.1:53", "255.255.255.255:65535", "[2001:db8::1]:853", "0.0.0.0:0"] {
        let addr: SocketAddr = text.parse().expect("an address");
        remember(&mut slot, addr);
        assert_eq!(remembered(&slot), Some(addr));
    }
}

#[test]
fn permits_come_back() {
    let limit = Arc::new(Concurrent::new(2, "+2"));
    let first = limit.enter();
    let second = limit.enter();
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(limit.enter().err().as_deref(), Some("concurrent queries exceeded maximum +2"));
    drop(first);
    assert!(limit.enter().is_ok());
}

#[test]
fn streaks() {
    let (streak, hold) = (Streak::default(), Duration::from_secs(60));
    (0..2).for_each(|_| streak.note(true));
    assert!(!streak.is_longer(2, hold));
    streak.note(true);
    assert!(streak.is_longer(2, hold));
    assert!(!streak.is_longer(2, Duration::ZERO));
    streak.note(false);
    assert!(!streak.is_longer(0, hold));
}

#[test]
fn records_of_a_query_are_kept_unless_it_was_changed() {
    let name = NameBuf::parse("example.org").expect("a name");
    let mut ixfr = Query::ask(name.as_name(), Rtype::IXFR).to_packet();
    ixfr[9] = 1;
    ixfr.extend_from_slice(
        b"\xc0\x0c\0\x06\0\x01\0\0\0\0\0\x16\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    );
    let mut query = Query::new();
    assert_eq!(query.parse(&ixfr), wire::Arrival::Query);
    assert_eq!(packet::of(&query), ixfr);
    query.flags.set(wire::Flags::CD, true);
    assert_eq!(packet::of(&query), query.to_packet());
}
