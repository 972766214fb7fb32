//! Unit tests of the smaller parts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use server::Slot;
use wire::{NameBuf, Query, Rtype};

use super::super::concurrency::ConcurrencyLimit;
use super::super::policy::{Order, Policy};
use super::super::streak::ServfailStreak;
use super::super::{packet, store_upstream, stored_upstream};

#[test]
fn orders() {
    let robin = Policy::RoundRobin(AtomicU32::new(u32::MAX));
    let orders: Vec<Vec<usize>> = (0..4)
        .map(|_| {
            let order = robin.order(3, true);
            (0..3).map(|place| order.at(place)).collect()
        })
        .collect();
    assert_eq!(orders, [[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 1, 2]]);
    assert_eq!(Policy::Random.order(1, true), Order::First(0));
    let order = Policy::Random.order(5, true);
    let mut places: Vec<usize> = (0..5).map(|place| order.at(place)).collect();
    places.sort();
    assert_eq!(places, [0, 1, 2, 3, 4]);
}

#[test]
fn upstreams_round_trip_through_the_slot() {
    let mut slot = Slot::default();
    assert_eq!(stored_upstream(&slot), None);
    for text in ["127.0.0.1:53", "255.255.255.255:65535", "[2001:db8::1]:853", "0.0.0.0:0"] {
        let addr: SocketAddr = text.parse().expect("an address");
        store_upstream(&mut slot, addr);
        assert_eq!(stored_upstream(&slot), Some(addr));
    }
}

#[test]
fn dropped_permits_are_released() {
    let limit = Arc::new(ConcurrencyLimit::new(2, "+2"));
    let first = limit.acquire(true);
    let second = limit.acquire(true);
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(limit.acquire(true).err().as_deref(), Some("concurrent queries exceeded maximum +2"));
    drop(first);
    assert!(limit.acquire(true).is_ok());
}

#[test]
fn streaks() {
    let (streak, hold) = (ServfailStreak::default(), Duration::from_secs(60));
    (0..2).for_each(|_| streak.record(true));
    assert!(!streak.exceeds(2, hold));
    streak.record(true);
    assert!(streak.exceeds(2, hold));
    assert!(!streak.exceeds(2, Duration::ZERO));
    streak.record(false);
    assert!(!streak.exceeds(0, hold));
}

#[test]
fn records_of_an_unchanged_query_are_forwarded() {
    let name = NameBuf::parse("example.org").expect("a name");
    let mut ixfr = Query::ask(name.as_name(), Rtype::IXFR).to_packet();
    ixfr[9] = 1;
    ixfr.extend_from_slice(
        b"\xc0\x0c\0\x06\0\x01\0\0\0\0\0\x16\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    );
    let mut query = Query::new();
    assert_eq!(query.parse(&ixfr), wire::ParseOutcome::Query);
    assert_eq!(packet::of(&query), ixfr);
    query.flags.set(wire::Flags::CD, true);
    assert_eq!(packet::of(&query), query.to_packet());
}
