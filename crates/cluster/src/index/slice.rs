//! EndpointSlices: kept in the entry of their Service, of their ServiceImport, or of both.

use std::sync::Arc;

use super::addresses::{self, OwnedAddresses};
use super::entry::set_slice;
use super::intern::PortLists;
use super::store::Store;
use super::{Index, Indexed, ModifiedParts};
use crate::key::Key;
use crate::object::{EndpointSlice, Kind};
use crate::snapshot::{Entry, Owner, Snapshot};

impl Indexed for EndpointSlice {
    const KIND: Kind = Kind::EndpointSlice;

    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }

    fn store(index: &mut Index) -> &mut Store<Self> {
        &mut index.slices
    }

    fn intern(&mut self, tables: &Snapshot, ports: &mut PortLists) {
        let imported = self.imported.as_deref_mut().map(|imported| &mut imported.service);
        self.service.iter_mut().chain(imported).for_each(|entry| tables.intern_key(entry));
        ports.intern(&mut self.ports);
    }

    fn place(tables: &mut Snapshot, old: Option<&Arc<Self>>, new: Option<&Arc<Self>>) {
        place_in(tables, old, new, |slice| slice.service.as_ref(), |entry| &mut entry.slices);
        place_in(tables, old, new, import_of, |entry| &mut entry.imported);

        let (before, after) =
            (old.and_then(|old| owned_addresses(old)), new.and_then(|new| owned_addresses(new)));
        let hash = tables.address_hasher();
        addresses::replace(&mut tables.addresses, hash, before.as_ref(), after.as_ref());
    }

    /// All fields of a slice affect answers; a slice without a Service or ServiceImport affects none.
    fn modified_parts(old: Option<&Self>, new: Option<&Self>) -> ModifiedParts {
        let any = |has: fn(&Self) -> bool| old.is_some_and(has) || new.is_some_and(has);
        ModifiedParts {
            internal: any(|slice| slice.service.is_some()),
            external: false,
            multicluster: any(|slice| slice.imported.is_some()),
        }
    }
}

fn import_of(slice: &EndpointSlice) -> Option<&Key> {
    Some(&slice.imported.as_ref()?.service)
}

/// Moves a slice to its entry, from the one it was in before.
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

/// A slice of both a Service and a ServiceImport owns its addresses once, through the Service.
fn owned_addresses(slice: &EndpointSlice) -> Option<OwnedAddresses> {
    let key = slice.key.clone();
    let owner = match (&slice.service, import_of(slice)) {
        (Some(entry), _) => Owner::Slice { entry: entry.clone(), slice: key },
        (None, Some(entry)) => Owner::ImportedSlice { entry: entry.clone(), slice: key },
        (None, None) => return None,
    };
    Some(OwnedAddresses::new(owner, slice.endpoints.iter().map(|endpoint| endpoint.address)))
}
