//! Values made from file contents, shared while they are in use.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use sha2::{Digest, Sha256};

/// Values by a digest of the contents they were made from: keys themselves do not stay in memory.
pub(crate) struct Shared<T>(Mutex<Vec<([u8; 32], Weak<T>)>>);

impl<T> Shared<T> {
    pub const fn new() -> Shared<T> {
        Shared(Mutex::new(Vec::new()))
    }

    /// The value made from these contents, if it is in use, or a new one.
    pub fn get<E>(&self, contents: &[&[u8]], make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let mut digest = Sha256::new();
        for part in contents {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        let digest: [u8; 32] = digest.finalize().into();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, value)| value.strong_count() > 0);
        let found = known.iter().find(|(key, _)| *key == digest).and_then(|(_, value)| value.upgrade());
        if let Some(value) = found {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        known.push((digest, Arc::downgrade(&value)));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_contents_share_a_value_while_it_is_used() {
        static VALUES: Shared<u8> = Shared::new();
        let get =
            |contents: &[&[u8]], value: u8| VALUES.get(contents, || Ok::<u8, ()>(value)).expect("a value");
        let first = get(&[b"a", b"b"], 1);
        assert_eq!((*get(&[b"a", b"b"], 2), *get(&[b"ab"], 3), *get(&[b"", b"ab"], 4)), (1, 3, 4));
        assert_eq!(VALUES.get(&[b"bad"], || Err(())).err(), Some(()));
        drop(first);
        assert_eq!(*get(&[b"a", b"b"], 5), 5);
    }
}
