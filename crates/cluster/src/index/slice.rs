//! EndpointSlices: kept in the entry of their Service, of their ServiceImport, or of both.

use std::sync::Arc;

use super::addresses::{self, Holding};
use super::entry::set_slice;
use super::known::Known;
use super::shared::PortLists;
use super::{Index, Indexed, Moves};
use crate::key::Key;
use crate::object::{EndpointSlice, Kind};
use crate::snapshot::{Entry, Owner, Snapshot};

impl Indexed for EndpointSlice {
    const KIND: Kind = Kind::EndpointSlice;

    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }

    fn known(index: &mut Index) -> &mut Known<Self> {
        &mut index.slices
    }

    fn share(&mut self, tables: &Snapshot, ports: &mut PortLists) {
        let imported = self.imported.as_deref_mut().map(|imported| &mut imported.service);
        self.service.iter_mut().chain(imported).for_each(|entry| tables.share_key(entry));
        ports.share(&mut self.ports);
    }

    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>) {
        place_in(tables, old, new, |slice| slice.service.as_ref(), |entry| &mut entry.slices);
        place_in(tables, old, new, import_of, |entry| &mut entry.imported);

        let (before, after) = (old.and_then(|old| holding(old)), new.and_then(|new| holding(new)));
        let hash = tables.address_hasher();
        addresses::replace(&mut tables.addresses, hash, before.as_ref(), after.as_ref());
    }

    /// All that is kept of a slice shows in answers. A slice of nobody shows nowhere.
    fn moves(old: Option<&Self>, new: Option<&Self>) -> Moves {
        let any = |has: fn(&Self) -> bool| old.is_some_and(has) || new.is_some_and(has);
        Moves {
            internal: any(|slice| slice.service.is_some()),
            external: false,
            multicluster: any(|slice| slice.imported.is_some()),
        }
    }
}

fn import_of(slice: &EndpointSlice) -> Option<&Key> {
    Some(&slice.imported.as_ref()?.service)
}

/// Puts a slice into the entry it belongs to, and takes it out of the one it belonged to.
fn place_in(
    tables: &mut Snapshot,
    old: Option<&Arc<EndpointSlice>>,
    new: Option<&Arc<EndpointSlice>>,
    entry_of: fn(&EndpointSlice) -> Option<&Key>,
    list: fn(&mut Entry) -> &mut Box<[Arc<EndpointSlice>]>,
) {
    let (from, to) = (old.and_then(|old| entry_of(old)), new.and_then(|new| entry_of(new)));
    if let (Some(from), Some(old)) = (from, old)
        && Some(from) != to
    {
        tables.edit_entry(from, |entry| set_slice(list(entry), &old.key, None));
    }
    if let (Some(to), Some(new)) = (to, new) {
        tables.edit_entry(to, |entry| set_slice(list(entry), &new.key, Some(new)));
    }
}

/// A slice that belongs to a Service and to a ServiceImport has its addresses once, by the Service.
fn holding(slice: &EndpointSlice) -> Option<Holding> {
    let key = slice.key.clone();
    let owner = match (&slice.service, import_of(slice)) {
        (Some(entry), _) => Owner::Slice { entry: entry.clone(), slice: key },
        (None, Some(entry)) => Owner::ImportedSlice { entry: entry.clone(), slice: key },
        (None, None) => return None,
    };
    Some(Holding::new(owner, slice.endpoints.iter().map(|endpoint| endpoint.address)))
}
