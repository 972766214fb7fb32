//! Services: an entry each, and their cluster IPs and external addresses.

use std::net::IpAddr;
use std::sync::Arc;

use super::addresses::{self, OwnedAddresses};
use super::intern::PortLists;
use super::store::Store;
use super::{Index, Indexed, ModifiedParts};
use crate::object::{External, Kind, Service};
use crate::snapshot::{Owner, Snapshot};

impl Indexed for Service {
    const KIND: Kind = Kind::Service;

    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }

    fn store(index: &mut Index) -> &mut Store<Self> {
        &mut index.services
    }

    fn intern(&mut self, tables: &Snapshot, ports: &mut PortLists) {
        tables.intern_key(&mut self.key);
        ports.intern(&mut self.ports);
    }

    #[cfg(test)]
    fn panic_if_poisoned(&self) {
        crate::poison::panic_if_service_poisoned(crate::poison::IN_INDEX, self);
    }

    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>) {
        let Some(any) = new.or(old) else { return };
        tables.edit_entry(&any.key, |entry| entry.service = new.cloned());

        let hash = tables.address_hasher();
        let internal = |service: &Arc<Self>| owned_addresses(service, service.cluster_ips().iter().copied());
        let (before, after) = (old.map(internal), new.map(internal));
        addresses::replace(&mut tables.addresses, &hash, before.as_ref(), after.as_ref());

        let is_external = |service: &&Arc<Self>| !service.external.is_empty();
        let external = |service: &Arc<Self>| owned_addresses(service, external_addresses(service));
        let (before, after) = (old.filter(is_external).map(external), new.filter(is_external).map(external));
        addresses::replace(&mut tables.external, &hash, before.as_ref(), after.as_ref());
    }

    fn modified_parts(old: Option<&Self>, new: Option<&Self>) -> ModifiedParts {
        let has_external =
            |service: Option<&Self>| service.is_some_and(|service| !service.external.is_empty());
        match (old, new) {
            // To a selector that matches only now, the Service is new.
            (Some(old), Some(new)) if old.selected == new.selected => ModifiedParts {
                internal: old.kind != new.kind || old.ports != new.ports,
                external: old.external != new.external || old.ports != new.ports,
                multicluster: false,
            },
            _ => ModifiedParts {
                internal: true,
                external: has_external(old) || has_external(new),
                multicluster: false,
            },
        }
    }
}

fn owned_addresses(service: &Service, addresses: impl Iterator<Item = IpAddr>) -> OwnedAddresses {
    OwnedAddresses::new(Owner::Service(service.key.clone()), addresses)
}

fn external_addresses(service: &Service) -> impl Iterator<Item = IpAddr> {
    service.external.iter().filter_map(|external| match external {
        External::Address(address) => Some(*address),
        External::Host(_) => None,
    })
}
