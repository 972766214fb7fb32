//! ServiceImports: an entry each, shared with the Service of the same name, and their addresses.

use std::sync::Arc;

use super::addresses::{self, Holding};
use super::known::Known;
use super::shared::PortLists;
use super::{Index, Indexed, Moves};
use crate::object::{Kind, ServiceImport};
use crate::snapshot::{Owner, Snapshot};

impl Indexed for ServiceImport {
    const KIND: Kind = Kind::ServiceImport;

    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }

    fn known(index: &mut Index) -> &mut Known<Self> {
        &mut index.imports
    }

    fn share(&mut self, tables: &Snapshot, ports: &mut PortLists) {
        tables.share_key(&mut self.key);
        ports.share(&mut self.ports);
    }

    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>) {
        let Some(any) = new.or(old) else { return };
        tables.edit_entry(&any.key, |entry| entry.import = new.cloned());

        let holding =
            |import: &Arc<Self>| Holding::new(Owner::Import(import.key.clone()), import.ips.iter().copied());
        let (before, after) = (old.map(holding), new.map(holding));
        let hash = tables.address_hasher();
        addresses::replace(&mut tables.addresses, hash, before.as_ref(), after.as_ref());
    }

    fn moves(_: Option<&Self>, _: Option<&Self>) -> Moves {
        Moves { multicluster: true, ..Moves::default() }
    }
}
