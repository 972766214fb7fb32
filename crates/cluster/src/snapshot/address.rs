//! Who has an address.

use crate::key::Key;

/// Where the owner of an address is found. By name and not by pointer, so that a slice that changes leaves the rows of
/// the addresses that it keeps alone.
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
