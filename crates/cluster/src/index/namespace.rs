//! Namespaces: their existence and the selectors that match them.

use std::sync::Arc;

use super::intern::PortLists;
use super::store::Store;
use super::{Index, Indexed, ModifiedParts};
use crate::object::{Kind, Namespace};
use crate::snapshot::Snapshot;

impl Indexed for Namespace {
    const KIND: Kind = Kind::Namespace;

    fn key(&self) -> &[u8] {
        self.name.as_bytes()
    }

    fn store(index: &mut Index) -> &mut Store<Self> {
        &mut index.namespaces
    }

    fn intern(&mut self, _: &Snapshot, _: &mut PortLists) {}

    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>) {
        let Some(any) = new.or(old) else { return };
        let hash = tables.hash(any.name.as_bytes());
        tables.namespaces.remove(hash, |other| other.name == any.name);
        if let Some(new) = new {
            tables.namespaces.insert(hash, Arc::clone(new), |_| true);
        }
    }

    /// Namespaces do not change CoreDNS's serials.
    fn modified_parts(_: Option<&Self>, _: Option<&Self>) -> ModifiedParts {
        ModifiedParts::default()
    }
}
