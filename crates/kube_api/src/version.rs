//! Versions of objects, compared for equality only.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

/// Identifies a version of an object: the hash of its resource version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version(u64);

impl Version {
    pub fn of(resource_version: &str) -> Self {
        Self(FixedState::default().hash_one(resource_version))
    }

    /// The version of an object that did not come from an API server, such as the number of times its file was read.
    pub fn numbered(number: u64) -> Self {
        Self(number)
    }
}
