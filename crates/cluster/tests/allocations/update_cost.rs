//! The cost of a change hardly depends on the size of the cluster: it copies a leaf and a node of each table it touches,
//! and only leaves grow, by a row for every four thousand of a table.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, PoisonError};

use cluster::object::{Details, EndpointSlice, Namespace, Service, ServiceType};
use cluster::{Change, Index, Key, Object, SelectorSet, Snapshot};
use testkit::alloc::counted;

use super::ALONE;

/// Number of counted changes.
const CHANGES: u32 = 200;
/// The copies grow by the rows that share a leaf with the changed one: with 100,000 Services a leaf has 25 entries or 50
/// addresses, and a new endpoint touches two leaves of addresses.
const MAX_EXTRA_BYTES: u64 = 9_000;

fn address(n: u32) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0000 + n).into()
}

fn key(n: u32) -> Key {
    Key::new(&format!("namespace-{}", n / 100), &format!("service-{n}")).expect("short names")
}

fn slice(n: u32, endpoint: u32) -> Change {
    Change::Apply(Object::EndpointSlice(EndpointSlice {
        key: key(n),
        service: Some(key(n)),
        imported: None,
        ports: Arc::default(),
        endpoints: [(address(endpoint), Details::default())].into_iter().collect(),
        selected: SelectorSet::default(),
    }))
}

fn cluster(services: u32) -> Index {
    let mut index = Index::with_fixed_seed();
    for n in 0..services {
        if n % 100 == 0 {
            let name = format!("namespace-{}", n / 100).into();
            let namespace = Namespace { name, selected: SelectorSet::default() };
            index.apply(Change::Apply(Object::Namespace(namespace)), 1);
        }
        index.apply(
            Change::Apply(Object::Service(Service {
                key: key(n),
                kind: ServiceType::ClusterIp([address(n)].into()),
                ports: Arc::default(),
                external: Box::default(),
                selected: SelectorSet::default(),
            })),
            1,
        );
        index.apply(slice(n, 0x0010_0000 + n), 1);
    }
    index
}

/// Allocations and bytes of one change and the snapshot after it, while the previous snapshot is still in use.
fn cost(services: u32) -> (u64, u64) {
    let mut index = cluster(services);
    let mut published: Arc<Snapshot> = index.snapshot();
    let (mut allocations, mut bytes) = (0, 0);
    for n in 0..CHANGES {
        let change = slice(n * 7 % services, 0x0020_0000 + n);
        let (next, heap) = counted(|| {
            assert!(index.apply(change, 2));
            index.snapshot()
        });
        published = next;
        allocations += heap.allocations;
        bytes += heap.bytes;
    }
    drop(published);
    (allocations / u64::from(CHANGES), bytes / u64::from(CHANGES))
}

#[test]
fn a_change_costs_the_same_in_clusters_of_all_sizes() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (small, large) = (cost(1_000), cost(100_000));
    println!("allocations and bytes of a change: {small:?} with 1,000 Services, {large:?} with 100,000");
    // The rows of a large table's leaf are in an allocation of their own.
    assert!(large.0 <= small.0 + 10, "allocations: {small:?} {large:?}");
    assert!(large.1 <= small.1 + MAX_EXTRA_BYTES, "bytes: {small:?} {large:?}");
}
