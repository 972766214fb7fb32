//! Objects whose names make the code panic at a place, as if by a bug there.

pub(crate) const IN_WATCH: &str = "panics-in-watch";
pub(crate) const IN_DECODE: &str = "panics-in-decode";
pub(crate) const IN_CONVERT: &str = "panics-in-convert";
pub(crate) const IN_WRITER: &str = "panics-in-writer";
pub(crate) const IN_INDEX: &str = "panics-in-index";

/// Panics if it is the object that makes this place panic.
pub(crate) fn strike(place: &str, name: &str) {
    assert!(!name.starts_with(place), "poisoned");
}

/// The same by key.
pub(crate) fn strike_key(place: &str, key: &[u8]) {
    strike(place, &String::from_utf8_lossy(key.get(1..).unwrap_or_default()));
}
