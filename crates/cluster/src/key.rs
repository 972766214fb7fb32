//! The key of an object: its namespace and name.

use std::fmt;
use std::sync::Arc;

/// A name and its namespace, each after its length: `3 w e b 4 s h o p`.
///
/// This is the wire format of two DNS labels, so a lookup uses the query's own lower-case bytes. Clones share their bytes:
/// an object, its entry and the owner of its addresses have one key.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<[u8]>);

impl Key {
    /// None if either is longer than 255 octets, which Kubernetes does not allow.
    pub fn new(namespace: &str, name: &str) -> Option<Self> {
        let (n, ns) = (u8::try_from(name.len()).ok()?, u8::try_from(namespace.len()).ok()?);
        let mut bytes = Vec::with_capacity(2 + name.len() + namespace.len());
        bytes.push(n);
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(ns);
        bytes.extend_from_slice(namespace.as_bytes());
        Some(Self(bytes.into()))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn name(&self) -> &str {
        self.parts().0
    }

    pub fn namespace(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
        let end = 1 + usize::from(self.0[0]);
        (text(&self.0[1..end]), text(&self.0[end + 1..]))
    }
}

/// `shop/web`, as kubectl takes it.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace(), self.name())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_two_labels() {
        let key = Key::new("shop", "web").expect("short names");
        assert_eq!(key.as_bytes(), b"\x03web\x04shop");
        assert_eq!((key.name(), key.namespace(), key.to_string()), ("web", "shop", "shop/web".into()));
        assert!(Key::new("shop", &"x".repeat(256)).is_none());
    }
}
