//! Namespaces: that they exist, and which selectors they fit.

use std::sync::Arc;

use super::known::Known;
use super::shared::PortLists;
use super::{Index, Indexed, Moves};
use crate::object::{Kind, Namespace};
use crate::snapshot::Snapshot;

impl Indexed for Namespace {
    const KIND: Kind = Kind::Namespace;

    fn key(&self) -> &[u8] {
        self.name.as_bytes()
    }

    fn known(index: &mut Index) -> &mut Known<Self> {
        &mut index.namespaces
    }

    fn share(&mut self, _: &Snapshot, _: &mut PortLists) {}

    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>) {
        let Some(any) = new.or(old) else { return };
        let hash = tables.hash(any.name.as_bytes());
        tables.namespaces.remove(hash, |other| other.name == any.name);
        if let Some(new) = new {
            tables.namespaces.insert(hash, Arc::clone(new), |_| true);
        }
    }

    /// CoreDNS's serials do not move with namespaces.
    fn moves(_: Option<&Self>, _: Option<&Self>) -> Moves {
        Moves::default()
    }
}
