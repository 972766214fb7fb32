//! Owner names as keys of the tree: relative to the zone, labels from the right, so that the order of octets is the
//! canonical order of names (RFC 4034 §6.1).
//!
//! Each label is followed by 0; the octets 0 and 1 inside a label are written 1,1 and 1,2. The apex is the empty key, and
//! the key of a name is a prefix of the keys of all names below it.

use wire::{Name, NameBuf};

/// Labels of the longest name, without the root.
const MAX_LABELS: usize = 127;
/// A name of 255 octets in which every octet is escaped.
const MAX_LEN: usize = 512;

/// A key without the heap.
#[derive(Clone)]
pub(crate) struct Key {
    len: u16,
    bytes: [u8; MAX_LEN],
}

impl Key {
    /// The key of the first `front` octets of a name in lower case: the labels below the zone.
    pub fn new(name: Name<'_>, front: usize) -> Key {
        let wire = name.wire();
        let mut starts = [0u8; MAX_LABELS];
        let (mut count, mut at) = (0, 0);
        while at < front && count < MAX_LABELS {
            starts[count] = at as u8;
            count += 1;
            at += usize::from(wire[at]) + 1;
        }
        let mut key = Key { len: 0, bytes: [0; MAX_LEN] };
        for &start in starts[..count].iter().rev() {
            let start = usize::from(start);
            key.push(&wire[start + 1..start + 1 + usize::from(wire[start])]);
        }
        key
    }

    /// The key of a name, in any case; None if it is not in the zone.
    pub fn of(name: Name<'_>, origin: Name<'_>) -> Option<Key> {
        let front = name.offset_of(origin)?;
        Some(Key::new(name.to_lower().as_name(), front))
    }

    /// Appends a label, one level further down.
    pub fn push(&mut self, label: &[u8]) {
        let mut at = usize::from(self.len);
        for &octet in label {
            if octet <= 1 {
                self.bytes[at] = 1;
                at += 1;
            }
            self.bytes[at] = octet + u8::from(octet <= 1);
            at += 1;
        }
        self.bytes[at] = 0;
        self.len = at as u16 + 1;
    }

    /// The key of the wildcard directly below a key.
    pub fn wildcard_below(key: &[u8]) -> Key {
        let mut wildcard = Key { len: key.len() as u16, bytes: [0; MAX_LEN] };
        wildcard.bytes[..key.len()].copy_from_slice(key);
        wildcard.push(b"*");
        wildcard
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The keys of the names between the apex and this one, from the apex down, without both.
pub(crate) fn ancestors(key: &[u8]) -> impl Iterator<Item = &[u8]> {
    let inner = key.split_last().map_or(key, |(_, inner)| inner);
    inner.iter().enumerate().filter(|(_, octet)| **octet == 0).map(|(at, _)| &key[..=at])
}

/// The length of the longest key that is a prefix of both: their closest common ancestor.
pub(crate) fn common_ancestor(a: &[u8], b: &[u8]) -> usize {
    let shared = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    a[..shared].iter().rposition(|octet| *octet == 0).map_or(0, |last| last + 1)
}

/// The name of a key, in lower case.
pub(crate) fn name_of(key: &[u8], origin: Name<'_>) -> NameBuf {
    let mut name = origin.to_buf();
    for escaped in key.split(|octet| *octet == 0).filter(|label| !label.is_empty()) {
        let mut label = [0; 63];
        let mut len = 0;
        let mut octets = escaped.iter();
        while let Some(&octet) = octets.next() {
            label[len] = if octet == 1 { octets.next().map_or(0, |escaped| escaped - 1) } else { octet };
            len += 1;
        }
        name.prepend(&label[..len]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> NameBuf {
        NameBuf::parse(text).unwrap()
    }

    fn key(text: &str) -> Vec<u8> {
        Key::of(name(text).as_name(), name("example").as_name()).unwrap().bytes().to_vec()
    }

    /// The list of RFC 4034 §6.1.
    #[test]
    fn rfc4034_6_1_canonical_order() {
        let sorted = [
            "example",
            "a.example",
            "yljkjljk.a.example",
            "Z.a.example",
            "zABC.a.EXAMPLE",
            "z.example",
            r"\001.z.example",
            "*.z.example",
            r"\200.z.example",
        ];
        assert!(sorted.map(key).is_sorted());
    }

    #[test]
    fn ancestors_and_wildcards() {
        let deep = key("a.b.c.example");
        let above: Vec<String> =
            ancestors(&deep).map(|key| name_of(key, name("example").as_name()).to_string()).collect();
        assert_eq!(above, ["c.example.", "b.c.example."]);
        assert_eq!(ancestors(&key("a.example")).count(), 0);
        assert_eq!(ancestors(&key("example")).count(), 0);
        assert_eq!(Key::wildcard_below(&key("b.example")).bytes(), key("*.b.example"));
        for (a, b, common) in [
            ("a.b.example", "c.b.example", "b.example"),
            ("a.b.example", "a.bb.example", "example"),
            ("a.b.example", "b.example", "b.example"),
        ] {
            assert_eq!(common_ancestor(&key(a), &key(b)), key(common).len(), "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn name_and_key_are_inverse(labels in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..12), 0..6)) {
            let mut expected = name("example");
            for label in &labels {
                expected.prepend(&label.to_ascii_lowercase());
            }
            let origin = name("example");
            let key = Key::of(expected.as_name(), origin.as_name()).unwrap();
            prop_assert_eq!(name_of(key.bytes(), origin.as_name()), expected);
        }
    }
}
