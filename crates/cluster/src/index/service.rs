//! Services: an entry each, and their addresses inside and outside.

use std::net::IpAddr;
use std::sync::Arc;

use super::addresses::{self, Holding};
use super::known::Known;
use super::shared::PortLists;
use super::{Index, Indexed, Moves};
use crate::object::{External, Kind, Service};
use crate::snapshot::{Owner, Snapshot};

impl Indexed for Service {
    const KIND: Kind = Kind::Service;

    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }

    fn known(index: &mut Index) -> &mut Known<Self> {
        &mut index.services
    }

    fn share(&mut self, tables: &Snapshot, ports: &mut PortLists) {
        tables.share_key(&mut self.key);
        ports.share(&mut self.ports);
    }

    #[cfg(test)]
    fn strike(&self) {
        crate::poison::strike(crate::poison::IN_INDEX, self);
    }

    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>) {
        let Some(any) = new.or(old) else { return };
        tables.edit_entry(&any.key, |entry| entry.service = new.cloned());

        let hash = tables.address_hasher();
        let inside = |service: &Arc<Self>| holding(service, service.cluster_ips().iter().copied());
        let (before, after) = (old.map(inside), new.map(inside));
        addresses::replace(&mut tables.addresses, &hash, before.as_ref(), after.as_ref());

        let has_outside = |service: &&Arc<Self>| !service.external.is_empty();
        let outside = |service: &Arc<Self>| holding(service, external_addresses(service));
        let (before, after) = (old.filter(has_outside).map(outside), new.filter(has_outside).map(outside));
        addresses::replace(&mut tables.external, &hash, before.as_ref(), after.as_ref());
    }

    fn moves(old: Option<&Self>, new: Option<&Self>) -> Moves {
        let has_external =
            |service: Option<&Self>| service.is_some_and(|service| !service.external.is_empty());
        match (old, new) {
            // To some selector, a Service that fits it from now on is a new one.
            (Some(old), Some(new)) if old.selected == new.selected => Moves {
                internal: old.kind != new.kind || old.ports != new.ports,
                external: old.external != new.external || old.ports != new.ports,
                multicluster: false,
            },
            _ => Moves {
                internal: true,
                external: has_external(old) || has_external(new),
                multicluster: false,
            },
        }
    }
}

fn holding(service: &Service, addresses: impl Iterator<Item = IpAddr>) -> Holding {
    Holding::new(Owner::Service(service.key.clone()), addresses)
}

fn external_addresses(service: &Service) -> impl Iterator<Item = IpAddr> {
    service.external.iter().filter_map(|external| match external {
        External::Address(address) => Some(*address),
        External::Host(_) => None,
    })
}
