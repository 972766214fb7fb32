//! The contents of a cache. They survive a reload if nothing changed that the entries depend on.

use std::sync::Arc;

use foldhash::quality::RandomState;
use server::Compact;

use super::coalesce::Flights;
use super::options::Options;
use super::store::Store;

pub(super) struct Contents {
    /// Seeded, since strangers choose the names in queries. Entries are stored by its hashes, so it survives with them.
    pub hasher: RandomState,
    pub success: Store,
    pub denial: Store,
    /// Queries in flight; those of the next configuration may join them.
    pub flights: Arc<Flights>,
}

impl Contents {
    pub fn new(options: &Options) -> Contents {
        Contents {
            hasher: RandomState::default(),
            success: Store::new(options.success.capacity),
            denial: Store::new(options.denial.capacity),
            flights: Arc::default(),
        }
    }
}

impl Compact for Contents {
    fn compact(&self) {
        self.success.compact();
        self.denial.compact();
    }
}
