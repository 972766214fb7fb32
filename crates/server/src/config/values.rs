//! Values that outlive a configuration, such as socket pools and caches: plugins request them by a key.
//!
//! ```text
//! running Config ──its values──→ build of the next ──those requested again──→ next Config
//!        └─ keeps them until it is dropped, so that a next one that never serves changes nothing
//! ```
//!
//! A value is identified by its type and a key. The key contains everything the value depends on, so that a change makes
//! a new value. A value that is no longer requested is dropped with the last configuration that did.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// Values by type and key.
#[derive(Clone, Default)]
pub(crate) struct Values(HashMap<(TypeId, String), Arc<dyn Any + Send + Sync>>);

impl Values {
    /// The value of this configuration, else of the one before, else a new one; stored for this configuration.
    pub fn get<T>(&mut self, before: Option<&Values>, key: &str, make: impl FnOnce() -> T) -> Arc<T>
    where
        T: Send + Sync + 'static,
    {
        let key = (TypeId::of::<T>(), key.to_owned());
        let known = self.0.get(&key).or_else(|| before?.0.get(&key)).cloned();
        if let Some(value) = known.and_then(|value| value.downcast::<T>().ok()) {
            self.0.insert(key, value.clone());
            return value;
        }
        let value = Arc::new(make());
        self.0.insert(key, value.clone());
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

        // The next has the values it requests; the others stay only in the first.
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
