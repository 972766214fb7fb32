//! ServiceImports: an entry each, shared with the Service of the same name, and their addresses.

use std::sync::Arc;

use super::addresses::{self, OwnedAddresses};
use super::intern::PortLists;
use super::store::Store;
use super::{Index, Indexed, ModifiedParts};
use crate::object::{Kind, ServiceImport};
use crate::snapshot::{Owner, Snapshot};

impl Indexed for ServiceImport {
    const KIND: Kind = Kind::ServiceImport;

    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }

    fn store(index: &mut Index) -> &mut Store<Self> {
        &mut index.imports
    }

    fn intern(&mut self, tables: &Snapshot, ports: &mut PortLists) {
        tables.intern_key(&mut self.key);
        ports.intern(&mut self.ports);
    }

    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>) {
        let Some(any) = new.or(old) else { return };
        tables.edit_entry(&any.key, |entry| entry.import = new.cloned());

        let owned_addresses = |import: &Arc<Self>| {
            OwnedAddresses::new(Owner::Import(import.key.clone()), import.ips.iter().copied())
        };
        let (before, after) = (old.map(owned_addresses), new.map(owned_addresses));
        let hash = tables.address_hasher();
        addresses::replace(&mut tables.addresses, hash, before.as_ref(), after.as_ref());
    }

    fn modified_parts(_: Option<&Self>, _: Option<&Self>) -> ModifiedParts {
        ModifiedParts { multicluster: true, ..ModifiedParts::default() }
    }
}
