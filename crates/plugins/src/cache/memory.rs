//! What a cache remembers. It outlives configurations, for as long as nothing changes that its entries depend on.

use std::sync::Arc;

use foldhash::quality::RandomState;
use server::Compact;

use super::coalesce::Flights;
use super::options::Options;
use super::store::Store;

pub(super) struct Memory {
    /// Seeded: names in queries are chosen by strangers. Entries lie where it says, so it stays with them.
    pub hasher: RandomState,
    pub success: Store,
    pub denial: Store,
    /// Those who ask now; whoever comes with the next configuration may wait for them as well.
    pub flights: Arc<Flights>,
}

impl Memory {
    pub fn new(options: &Options) -> Memory {
        Memory {
            hasher: RandomState::default(),
            success: Store::new(options.success.capacity),
            denial: Store::new(options.denial.capacity),
            flights: Arc::default(),
        }
    }
}

impl Compact for Memory {
    fn compact(&self) {
        self.success.compact();
        self.denial.compact();
    }
}
