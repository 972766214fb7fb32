//! What outlives a configuration: pools of sockets, remembered replies, whatever plugins ask for by a key.
//!
//! ```text
//! running Config ──its values──→ build of the next ──those asked for again──→ next Config
//!        └─ has them as well until it goes, so that a next one that never serves changes nothing
//! ```
//!
//! A value is found by its type and a key. The key says all the value depends on, so that a change of that finds
//! another value. What is not asked for any more goes with the last configuration that did.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// Values by type and key.
#[derive(Clone, Default)]
pub(crate) struct Values(HashMap<(TypeId, String), Arc<dyn Any + Send + Sync>>);

impl Values {
    /// The value that is here, else the one that was there before, else a new one. It is here from now on.
    pub fn get<T>(&mut self, before: Option<&Values>, key: &str, make: impl FnOnce() -> T) -> Arc<T>
    where
        T: Send + Sync + 'static,
    {
        let place = (TypeId::of::<T>(), key.to_owned());
        let known = self.0.get(&place).or_else(|| before?.0.get(&place)).cloned();
        if let Some(value) = known.and_then(|value| value.downcast::<T>().ok()) {
            self.0.insert(place, value.clone());
            return value;
        }
        let value = Arc::new(make());
        self.0.insert(place, value.clone());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_type_and_key() {
        let mut first = Values::default();
        let one = first.get(None, "a", || 1u32);
        assert!(Arc::ptr_eq(&one, &first.get(None, "a", || 2u32)));
        assert_eq!((*first.get(None, "b", || 3u32), *first.get(None, "a", || 4u64)), (3, 4));

        // The next has those it asks for, and leaves the others where they were.
        let mut second = Values::default();
        assert!(Arc::ptr_eq(&one, &second.get(Some(&first), "a", || 5u32)));
        assert_eq!((first.0.len(), second.0.len()), (3, 1));
        drop(first);
        assert_eq!(Arc::strong_count(&one), 2);

        let third = Values::default();
        drop(second);
        assert_eq!(Arc::strong_count(&one), 1);
        assert_eq!(*Values::default().get(Some(&third), "a", || 6u32), 6);
    }
}
