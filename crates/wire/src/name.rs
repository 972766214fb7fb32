//! Domain names in uncompressed wire form: borrowed ([`Name`]) and owned without the heap ([`NameBuf`]).

use std::fmt;

use crate::octets;

/// Longest name on the wire, with its root label.
const MAX_LEN: usize = 255;
/// Octets converted to lower case at once.
const CHUNK: usize = 32;
/// A name of 255 octets with a pointer after each label has at most this many; more pointers are a loop.
const MAX_POINTERS: usize = 126;

/// A borrowed name: complete, uncompressed, ending with the root label.
#[derive(Clone, Copy)]
pub struct Name<'a>(&'a [u8]);

/// An owned name in 256 bytes, without the heap.
#[derive(Clone)]
pub struct NameBuf {
    len: u8,
    bytes: [u8; MAX_LEN],
}

/// Why bytes or text are not a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// The message ended inside the name.
    Short,
    /// More than 255 octets.
    TooLong,
    /// A label of more than 63 octets.
    LabelTooLong,
    /// Two dots in a row.
    EmptyLabel,
    /// A backslash that escapes nothing.
    BadEscape,
    /// The label types 01 and 10 are reserved.
    BadLabelType,
    /// Compression pointers form a loop.
    PointerLoop,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameError::Short => "the message ends inside a name",
            NameError::TooLong => "the name is longer than 255 octets",
            NameError::LabelTooLong => "a label is longer than 63 octets",
            NameError::EmptyLabel => "a label is empty",
            NameError::BadEscape => "a backslash escapes nothing",
            NameError::BadLabelType => "a label has a reserved type",
            NameError::PointerLoop => "compression pointers loop",
        })
    }
}

impl std::error::Error for NameError {}

impl<'a> Name<'a> {
    pub const ROOT: Name<'static> = Name(&[0]);

    /// The bytes as a name; `None` unless they are exactly one uncompressed name.
    pub fn from_wire(bytes: &'a [u8]) -> Option<Name<'a>> {
        if bytes.len() > MAX_LEN {
            return None;
        }
        let mut at = 0;
        loop {
            match *bytes.get(at)? {
                0 => return (at + 1 == bytes.len()).then_some(Name(bytes)),
                len if len < 64 => at += usize::from(len) + 1,
                _ => return None,
            }
        }
    }

    pub fn wire(self) -> &'a [u8] {
        self.0
    }

    /// Octets on the wire, the root label included.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> usize {
        self.0.len()
    }

    pub fn is_root(self) -> bool {
        self.0.len() == 1
    }

    /// The labels from the left, without the root.
    pub fn labels(self) -> Labels<'a> {
        Labels { rest: self.0 }
    }

    pub fn label_count(self) -> usize {
        self.labels().count()
    }

    /// The name without its leftmost label; the root has no parent.
    pub fn parent(self) -> Option<Name<'a>> {
        match self.0[0] {
            0 => None,
            len => Some(Name(&self.0[usize::from(len) + 1..])),
        }
    }

    /// This name, its parent, and so on up to the root.
    pub fn suffixes(self) -> impl Iterator<Item = Name<'a>> {
        std::iter::successors(Some(self), |name| name.parent())
    }

    /// Octets before the suffix `zone`, ignoring case; `None` if this name is neither `zone` nor below it.
    pub fn offset_of(self, zone: Name<'_>) -> Option<usize> {
        if zone.is_root() {
            return Some(self.0.len() - 1);
        }
        // Compare the octets first, since they seldom match; then check that the match begins at a label.
        let at = self.0.len().checked_sub(zone.0.len())?;
        let tail = &self.0[at..];
        if tail[0] != zone.0[0] || (!octets::equal(tail, zone.0) && !tail.eq_ignore_ascii_case(zone.0)) {
            return None;
        }
        let mut label = 0;
        while label < at {
            label += usize::from(self.0[label]) + 1;
        }
        (label == at).then_some(at)
    }

    /// Whether this name is `zone` or below it, ignoring case.
    pub fn is_under(self, zone: Name<'_>) -> bool {
        self.offset_of(zone).is_some()
    }

    pub fn eq_ignore_case(self, other: Name<'_>) -> bool {
        self.0.eq_ignore_ascii_case(other.0)
    }

    pub fn to_buf(self) -> NameBuf {
        let mut buf = NameBuf::root();
        buf.set(self);
        buf
    }

    pub fn to_lower(self) -> NameBuf {
        let mut buf = self.to_buf();
        buf.make_lower();
        buf
    }
}

impl PartialEq for Name<'_> {
    /// Case-sensitive. [`Name::eq_ignore_case`] compares as DNS does.
    fn eq(&self, other: &Name<'_>) -> bool {
        self.0 == other.0
    }
}

impl Eq for Name<'_> {}

impl fmt::Display for Name<'_> {
    /// Presentation format with the final dot, escaped as in zone files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for label in self.labels() {
            for &byte in label {
                match byte {
                    b'.' | b' ' | b'\'' | b'@' | b';' | b'(' | b')' | b'"' | b'\\' => {
                        f.write_str("\\")?;
                        fmt::Write::write_char(f, char::from(byte))?;
                    }
                    b' '..=b'~' => fmt::Write::write_char(f, char::from(byte))?,
                    _ => write!(f, "\\{byte:03}")?,
                }
            }
            f.write_str(".")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Iterator over the labels of a name.
#[derive(Clone)]
pub struct Labels<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Labels<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (&len, rest) = self.rest.split_first()?;
        if len == 0 {
            return None;
        }
        let (label, rest) = rest.split_at(usize::from(len));
        self.rest = rest;
        Some(label)
    }
}

impl NameBuf {
    pub const fn root() -> NameBuf {
        NameBuf { len: 1, bytes: [0; MAX_LEN] }
    }

    /// Parses presentation format with the escapes `\.` and `\123`. A missing final dot is added.
    pub fn parse(text: &str) -> Result<NameBuf, NameError> {
        let mut name = NameBuf::root();
        if text == "." || text.is_empty() {
            return Ok(name);
        }
        let mut at = 0; // where the length of the current label goes
        let mut len = 0;
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            let value = match byte {
                b'.' => {
                    if len == 0 {
                        return Err(NameError::EmptyLabel);
                    }
                    name.bytes[at] = len as u8;
                    at += len + 1;
                    len = 0;
                    continue;
                }
                b'\\' => match bytes.next().ok_or(NameError::BadEscape)? {
                    first @ b'0'..=b'9' => {
                        let mut number = u16::from(first - b'0');
                        for _ in 0..2 {
                            let digit = bytes.next_if(u8::is_ascii_digit).ok_or(NameError::BadEscape)?;
                            number = number * 10 + u16::from(digit - b'0');
                        }
                        u8::try_from(number).map_err(|_| NameError::BadEscape)?
                    }
                    other => other,
                },
                other => other,
            };
            if len == 63 {
                return Err(NameError::LabelTooLong);
            }
            len += 1;
            // One octet stays free for the root label.
            let end = at + len;
            if end + 1 >= MAX_LEN {
                return Err(NameError::TooLong);
            }
            name.bytes[end] = value;
        }
        if len > 0 {
            name.bytes[at] = len as u8;
            at += len + 1;
        }
        if at >= MAX_LEN {
            return Err(NameError::TooLong);
        }
        name.bytes[at] = 0;
        name.len = (at + 1) as u8;
        Ok(name)
    }

    /// Reads the name at `start` of a message and follows compression pointers in any direction. Returns the offset
    /// after the name.
    pub fn read(&mut self, message: &[u8], start: usize) -> Result<usize, NameError> {
        if let Some(end) = self.read_plain(message, start) {
            return Ok(end);
        }
        let mut from = start;
        let mut end = None;
        let mut pointers = 0;
        let mut len = 0;
        loop {
            let head = *message.get(from).ok_or(NameError::Short)?;
            match head {
                0 => {
                    self.bytes[len] = 0;
                    self.len = (len + 1) as u8;
                    return Ok(end.unwrap_or(from + 1));
                }
                1..=63 => {
                    let size = usize::from(head) + 1;
                    let label = message.get(from..from + size).ok_or(NameError::Short)?;
                    if len + size >= MAX_LEN {
                        return Err(NameError::TooLong);
                    }
                    self.bytes[len..len + size].copy_from_slice(label);
                    len += size;
                    from += size;
                }
                0xC0.. => {
                    let low = *message.get(from + 1).ok_or(NameError::Short)?;
                    end = end.or(Some(from + 2));
                    pointers += 1;
                    if pointers > MAX_POINTERS {
                        return Err(NameError::PointerLoop);
                    }
                    from = usize::from(head & 0x3F) << 8 | usize::from(low);
                }
                _ => return Err(NameError::BadLabelType),
            }
        }
    }

    /// Fast path: copies a name without pointers at once. `None` for any other input.
    fn read_plain(&mut self, message: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        loop {
            match *message.get(at)? {
                0 => break,
                label @ 1..=63 => at += usize::from(label) + 1,
                _ => return None,
            }
        }
        let end = at + 1;
        let name = &message[start..end];
        self.bytes.get_mut(..name.len())?.copy_from_slice(name);
        self.len = name.len() as u8;
        Some(end)
    }

    pub fn as_name(&self) -> Name<'_> {
        Name(&self.bytes[..usize::from(self.len)])
    }

    pub fn wire(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    pub fn set(&mut self, name: Name<'_>) {
        self.len = name.0.len() as u8;
        self.bytes[..name.0.len()].copy_from_slice(name.0);
    }

    /// Sets this to `name` in lower case.
    pub fn set_lower(&mut self, name: &NameBuf) {
        self.len = name.len;
        let len = usize::from(name.len);
        // In whole chunks, which are few instructions each; octets after the name are never read.
        let end = len.next_multiple_of(CHUNK).min(MAX_LEN);
        let (from, to) = (name.bytes[..end].chunks(CHUNK), self.bytes[..end].chunks_mut(CHUNK));
        for (from, to) in from.zip(to) {
            match (from.first_chunk::<CHUNK>(), to.first_chunk_mut::<CHUNK>()) {
                (Some(from), Some(to)) => *to = from.map(|byte| byte.to_ascii_lowercase()),
                _ => to.iter_mut().zip(from).for_each(|(to, byte)| *to = byte.to_ascii_lowercase()),
            }
        }
    }

    pub fn make_lower(&mut self) {
        let len = usize::from(self.len);
        // Length octets are below 64 and so never look like upper-case letters.
        self.bytes[..len].make_ascii_lowercase();
    }

    /// Prepends a label; false if it is invalid or the name would be too long.
    pub fn prepend(&mut self, label: &[u8]) -> bool {
        let len = usize::from(self.len);
        if label.is_empty() || label.len() > 63 || len + label.len() + 1 > MAX_LEN {
            return false;
        }
        self.bytes.copy_within(..len, label.len() + 1);
        self.bytes[0] = label.len() as u8;
        self.bytes[1..=label.len()].copy_from_slice(label);
        self.len = (len + label.len() + 1) as u8;
        true
    }
}

impl PartialEq for NameBuf {
    fn eq(&self, other: &NameBuf) -> bool {
        self.wire() == other.wire()
    }
}

impl Eq for NameBuf {}

impl std::hash::Hash for NameBuf {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.wire().hash(state);
    }
}

impl fmt::Display for NameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_name().fmt(f)
    }
}

impl fmt::Debug for NameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_name().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parse_and_display() {
        for (text, printed) in [
            (".", "."),
            ("", "."),
            ("example.org", "example.org."),
            ("WWW.Example.org.", "WWW.Example.org."),
            (r"a\.b.c.", r"a\.b.c."),
            (r"\065.c.", "A.c."),
            (r"x\000y.", r"x\000y."),
            ("a@b.c.", r"a\@b.c."),
        ] {
            assert_eq!(NameBuf::parse(text).unwrap().to_string(), printed, "{text}");
        }
        let long = "a".repeat(64);
        let many = "abcdefghi.".repeat(26);
        for (text, error) in [
            ("a..b", NameError::EmptyLabel),
            (".a", NameError::EmptyLabel),
            (r"a\", NameError::BadEscape),
            (r"a\25", NameError::BadEscape),
            (r"a\256", NameError::BadEscape),
            (&long, NameError::LabelTooLong),
            (&many, NameError::TooLong),
        ] {
            assert_eq!(NameBuf::parse(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn longest_name_fits() {
        let text = format!("{0}.{0}.{0}.{1}.", "a".repeat(63), "b".repeat(61));
        let name = NameBuf::parse(&text).unwrap();
        assert_eq!(name.as_name().len(), 255);
        let mut copy = NameBuf::root();
        assert_eq!(copy.read(name.wire(), 0), Ok(255));
        assert_eq!(copy, name);
        let too_long = format!("{0}.{0}.{0}.{1}.", "a".repeat(63), "b".repeat(62));
        assert_eq!(NameBuf::parse(&too_long).unwrap_err(), NameError::TooLong);
    }

    #[test]
    fn lower_case() {
        let mut lower = NameBuf::parse("a.longer.name.that.was.in.the.same.buffer.before.this.one").unwrap();
        for text in ["A.", "Web.Shop.SVC.cluster.local", &"ABCDEFGHI.".repeat(25), "x@[Z`{", "."] {
            let name = NameBuf::parse(text).unwrap();
            lower.set_lower(&name);
            assert_eq!(lower.wire(), name.wire().to_ascii_lowercase(), "{text}");
            assert_eq!(lower, name.as_name().to_lower(), "{text}");
        }
    }

    /// Octets equal to a zone but inside a longer label do not match.
    #[test]
    fn zones_match_at_label_boundaries_only() {
        let name = NameBuf::parse(r"x\003org.").unwrap();
        assert_eq!(name.as_name().offset_of(NameBuf::parse("org").unwrap().as_name()), None);
    }

    #[test]
    fn suffixes_and_zones() {
        let name = NameBuf::parse("a.B.example.ORG.").unwrap();
        for (zone, offset) in [
            ("example.org.", Some(4)),
            (".", Some(16)),
            ("b.example.org", Some(2)),
            ("xample.org", None),
            ("mple.org", None),
            ("c.a.b.example.org", None),
            ("a.b.example.org", Some(0)),
            ("aa.b.example.org", None),
        ] {
            assert_eq!(name.as_name().offset_of(NameBuf::parse(zone).unwrap().as_name()), offset, "{zone}");
        }
        let all: Vec<String> = name.as_name().suffixes().map(|n| n.to_string()).collect();
        assert_eq!(all, ["a.B.example.ORG.", "B.example.ORG.", "example.ORG.", "ORG.", "."]);
    }

    #[test]
    fn pointers() {
        let mut name = NameBuf::root();
        // "x" then a pointer to "org." at 0.
        let message = [3, b'o', b'r', b'g', 0, 1, b'x', 0xC0, 0];
        assert_eq!(name.read(&message, 5), Ok(9));
        assert_eq!(name.to_string(), "x.org.");
        assert_eq!(name.read(&[0xC0, 0], 0), Err(NameError::PointerLoop));
        assert_eq!(name.read(&[0x80, 0], 0), Err(NameError::BadLabelType));
        assert_eq!(name.read(&[5, b'a'], 0), Err(NameError::Short));
    }

    proptest! {
        #[test]
        fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..40) {
            let mut name = NameBuf::root();
            if name.read(&bytes, at).is_ok() {
                prop_assert!(Name::from_wire(name.wire()).is_some());
                let printed = name.to_string();
                prop_assert_eq!(NameBuf::parse(&printed).unwrap(), name);
            }
        }
    }
}
