//! What a change costs hardly depends on how large the cluster is: it copies a leaf and a node of each table it touches,
//! and only leaves grow, by a row for every four thousand of a table.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, PoisonError};

use cluster::object::{Details, EndpointSlice, Namespace, Service, ServiceType};
use cluster::{Change, Index, Key, Object, Selected, Snapshot};
use testkit::alloc::counted;

use super::ALONE;

/// Changes that are counted.
const CHANGES: u32 = 200;
/// What is copied grows by the rows that share a leaf with what changes: with 100,000 Services there are 25 entries to a
/// leaf and 50 addresses, of which a new endpoint touches two leaves.
const MOST_BYTES_MORE: u64 = 9_000;

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
        selected: Selected::default(),
    }))
}

fn cluster(services: u32) -> Index {
    let mut index = Index::fixed();
    for n in 0..services {
        if n % 100 == 0 {
            let name = format!("namespace-{}", n / 100).into();
            let namespace = Namespace { name, selected: Selected::default() };
            index.apply(Change::Apply(Object::Namespace(namespace)), 1);
        }
        index.apply(
            Change::Apply(Object::Service(Service {
                key: key(n),
                kind: ServiceType::ClusterIp([address(n)].into()),
                ports: Arc::default(),
                external: Box::default(),
                selected: Selected::default(),
            })),
            1,
        );
        index.apply(slice(n, 0x0010_0000 + n), 1);
    }
    index
}

/// Allocations and bytes of one change and the snapshot after it, while the snapshot before is still read.
fn cost(services: u32) -> (u64, u64) {
    let mut index = cluster(services);
    let mut shown: Arc<Snapshot> = index.snapshot();
    let (mut allocations, mut bytes) = (0, 0);
    for n in 0..CHANGES {
        let change = slice(n * 7 % services, 0x0020_0000 + n);
        let (next, heap) = counted(|| {
            assert!(index.apply(change, 2));
            index.snapshot()
        });
        shown = next;
        allocations += heap.allocations;
        bytes += heap.bytes;
    }
    drop(shown);
    (allocations / u64::from(CHANGES), bytes / u64::from(CHANGES))
}

#[test]
fn a_change_costs_the_same_in_clusters_of_all_sizes() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (small, large) = (cost(1_000), cost(100_000));
    println!("allocations and bytes of a change: {small:?} with 1,000 Services, {large:?} with 100,000");
    // The rows of a large table's leaf are beside it.
    assert!(large.0 <= small.0 + 10, "allocations: {small:?} {large:?}");
    assert!(large.1 <= small.1 + MOST_BYTES_MORE, "bytes: {small:?} {large:?}");
}
