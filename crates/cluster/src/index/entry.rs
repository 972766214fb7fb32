//! Updates entries.

use std::sync::Arc;

use crate::key::Key;
use crate::object::EndpointSlice;
use crate::shards::edit;
use crate::snapshot::{Entry, Snapshot};

impl Snapshot {
    /// Edits the entry of a key; adds a missing one, removes an empty one.
    pub(super) fn edit_entry(&mut self, key: &Key, edit: impl FnOnce(&mut Entry)) {
        let hash = self.hash(key.as_bytes());
        let is = |entry: &Arc<Entry>| entry.key == *key;
        if let Some(entry) = self.entries.find_mut(hash, is) {
            let entry = Arc::make_mut(entry);
            edit(entry);
            if entry.is_empty() {
                self.entries.remove(hash, is);
            }
        } else {
            let mut entry = Entry::new(key.clone());
            edit(&mut entry);
            if !entry.is_empty() {
                self.entries.insert(hash, Arc::new(entry), |_| true);
            }
        }
    }
}

impl Entry {
    pub(crate) fn new(key: Key) -> Self {
        Self { key, service: None, slices: Box::default(), import: None, imported: Box::default() }
    }

    fn is_empty(&self) -> bool {
        self.service.is_none() && self.slices.is_empty() && self.import.is_none() && self.imported.is_empty()
    }
}

/// Adds or replaces a slice in an entry's sorted list; None removes it.
pub(super) fn set_slice(slices: &mut Box<[Arc<EndpointSlice>]>, key: &Key, new: Option<&Arc<EndpointSlice>>) {
    match (slices.binary_search_by(|slice| slice.key.cmp(key)), new) {
        (Ok(at), Some(new)) => slices[at] = Arc::clone(new),
        (Ok(at), None) => drop(edit(slices, |slices| slices.remove(at))),
        // Exactly one more, since most Services never have a second slice.
        (Err(at), Some(new)) => edit(slices, |slices| {
            slices.reserve_exact(1);
            slices.insert(at, Arc::clone(new));
        }),
        (Err(_), None) => {}
    }
}
