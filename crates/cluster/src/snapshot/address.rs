//! The owner of an address.

use crate::key::Key;

/// The owner of an address, by key and not by pointer: a changed slice leaves the rows of its unchanged addresses alone.
///
/// In the order in which [`super::Snapshot::holders`] yields them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    Service(Key),
    /// In the entry of its Service.
    Slice {
        entry: Key,
        slice: Key,
    },
    /// In the entry of its ServiceImport.
    ImportedSlice {
        entry: Key,
        slice: Key,
    },
    Import(Key),
}
