//! Who has an address.

use std::net::IpAddr;
use std::sync::Arc;

use crate::key::Key;

/// One address of one owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Held {
    pub address: IpAddr,
    pub owner: Arc<Owner>,
}

/// Where the owner is found. By name and not by pointer, so that a slice that changes leaves the rows of the
/// addresses that it keeps alone.
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
