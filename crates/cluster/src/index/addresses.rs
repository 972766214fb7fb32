//! Updates the address tables.

use std::net::IpAddr;
use std::sync::Arc;

use crate::shards::Shards;
use crate::snapshot::Owner;

/// The addresses of one owner.
pub(super) struct OwnedAddresses {
    owner: Owner,
    /// Ascending, without doubles.
    addresses: Vec<IpAddr>,
}

impl OwnedAddresses {
    pub fn new(owner: Owner, addresses: impl Iterator<Item = IpAddr>) -> Self {
        let mut addresses: Vec<_> = addresses.collect();
        addresses.sort_unstable();
        addresses.dedup();
        Self { owner, addresses }
    }

    fn has(&self, owner: &Owner, address: IpAddr) -> bool {
        self.addresses.binary_search(&address).is_ok() && self.owner == *owner
    }
}

/// Replaces the rows of an owner; those of addresses it keeps are not touched.
pub(super) fn replace(
    table: &mut Shards<Arc<Owner>>,
    hash: impl Fn(IpAddr) -> u64,
    old: Option<&OwnedAddresses>,
    new: Option<&OwnedAddresses>,
) {
    // All rows of an owner share one allocation, also rows that are added later.
    let mut shared_owner = None;
    if let Some(old) = old {
        for &address in &old.addresses {
            let is = |owner: &Arc<Owner>| **owner == old.owner;
            if !new.is_some_and(|new| new.has(&old.owner, address)) {
                table.remove(hash(address), is);
            } else if shared_owner.is_none() {
                shared_owner = table.find(hash(address), is).cloned();
            }
        }
    }
    if let Some(new) = new {
        for &address in &new.addresses {
            if !old.is_some_and(|old| old.has(&new.owner, address)) {
                let owner = Arc::clone(shared_owner.get_or_insert_with(|| Arc::new(new.owner.clone())));
                table.insert(hash(address), owner, |other| **other < new.owner);
            }
        }
    }
}
