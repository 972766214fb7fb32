//! Pods: found by address only.

use std::net::IpAddr;
use std::sync::Arc;

use super::intern::PortLists;
use super::store::Store;
use super::{Index, Indexed, ModifiedParts};
use crate::object::{Kind, Pod};
use crate::snapshot::Snapshot;

impl Indexed for Pod {
    const KIND: Kind = Kind::Pod;

    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }

    fn store(index: &mut Index) -> &mut Store<Self> {
        &mut index.pods
    }

    fn intern(&mut self, _: &Snapshot, _: &mut PortLists) {}

    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>) {
        let hash = tables.address_hasher();
        for (address, old) in addresses(old) {
            tables.pods.remove(hash(address), |(held, pod)| *held == address && pod.key == old.key);
        }
        for (address, new) in addresses(new) {
            let before = |(held, pod): &(IpAddr, Arc<Pod>)| (held, &pod.key) < (&address, &new.key);
            tables.pods.insert(hash(address), (address, Arc::clone(new)), before);
        }
    }

    fn modified_parts(old: Option<&Self>, new: Option<&Self>) -> ModifiedParts {
        let same = match (old, new) {
            (Some(old), Some(new)) => old.ips == new.ips && old.selected == new.selected,
            _ => false,
        };
        ModifiedParts { internal: !same, ..ModifiedParts::default() }
    }
}

/// Each address once; a pod has one per family.
fn addresses(pod: Option<&Arc<Pod>>) -> impl Iterator<Item = (IpAddr, &Arc<Pod>)> {
    pod.into_iter().flat_map(|pod| {
        let first = |at: usize, address| !pod.ips[..at].contains(address);
        let each = pod.ips.iter().enumerate().filter(move |(at, address)| first(*at, address));
        each.map(move |(_, address)| (*address, pod))
    })
}
