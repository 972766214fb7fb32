//! How long things take; to be run by hand:
//! `cargo test --release -p cluster speed -- --ignored --nocapture`.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use super::build::*;
use crate::index::{Change, Index};
use crate::key::Key;
use crate::object::Object;

const SERVICES: u32 = 50_000;

fn timed(what: &str, times: u32, mut each: impl FnMut(u32)) {
    let start = on_cpu();
    (0..times).for_each(&mut each);
    println!("{what}: {:?}", on_cpu().saturating_sub(start) / times);
}

/// The time this thread ran, which other processes do not lengthen.
fn on_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

fn name(n: u32) -> String {
    format!("namespace-{}/service-{n}", n % 100)
}

fn at(n: u32) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0000 + n).into()
}

fn service_at(n: u32, ip: u32) -> Change {
    let Object::Service(mut made) = service(&name(n), &[]) else { unreachable!() };
    made.kind = crate::object::ServiceType::ClusterIp([at(ip)].into());
    Change::Apply(Object::Service(made))
}

#[test]
#[ignore = "measures, and asserts nothing"]
fn speed_of_queries_and_changes() {
    let mut index = Index::new();
    timed("first list, each", SERVICES, |n| {
        index.apply(service_at(n, n), 1);
    });
    let keys: Vec<Key> = (0..SERVICES).map(|n| key(&name(n))).collect();
    let snapshot = index.snapshot();
    // In an order that the caches do not guess.
    let mix = |n: u32| n.wrapping_mul(2_654_435_761) % SERVICES;
    timed("entry, anywhere", 1_000_000, |n| {
        black_box(snapshot.entry(keys[mix(n) as usize].as_bytes()));
    });
    timed("entry, of one hundred", 1_000_000, |n| {
        black_box(snapshot.entry(keys[(mix(n) % 100) as usize].as_bytes()));
    });
    timed("entry, not there", 1_000_000, |n| {
        black_box(snapshot.entry(&keys[mix(n) as usize].as_bytes()[1..]));
    });
    timed("holders, anywhere", 1_000_000, |n| {
        black_box(snapshot.holders(at(mix(n))).next());
    });
    timed("holders, of one hundred", 1_000_000, |n| {
        black_box(snapshot.holders(at(mix(n) % 100)).next());
    });
    timed("change and snapshot", 10_000, |n| {
        index.apply(service_at(mix(n), SERVICES + n), 1);
        black_box(index.snapshot());
    });
    let mut kept = index.snapshot();
    timed("change and snapshot, the last one kept", 10_000, |n| {
        index.apply(service_at(mix(n), 2 * SERVICES + n), 1);
        kept = index.snapshot();
    });
    drop(kept);

    let Object::EndpointSlice(mut big) = slice("n/big", "n/big", &[]) else { unreachable!() };
    let one = bare_slice("n/x", &[1]).endpoints;
    timed("slice of 100 with one change, among 500", 10_000, |n| {
        big.key = key(&format!("n/big-{}", n % 500));
        let all = (0..100).map(|e| at(1_000_000 + (n % 500) * 100 + e + u32::from(e == 0) * n * 7));
        big.endpoints = all.map(|address| crate::object::Endpoint { address, ..one[0].clone() }).collect();
        index.apply(Change::Apply(Object::EndpointSlice(big.clone())), 1);
        black_box(index.snapshot());
    });
}
