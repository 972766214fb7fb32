//! Domain names in wire form, for tests: more tolerant than the server's.

use std::fmt;

use crate::error::{Error, Result};

/// An uncompressed name in wire form, ending in the root label. Case is kept. It may exceed 255 octets:
/// the decoder must represent invalid replies too.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Vec<u8>);

impl Name {
    pub fn root() -> Self {
        Self(vec![0])
    }

    /// From presentation form, with `\.` and `\DDD` escapes; the last dot may be left out.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::new(format!("{text:?} is not a name: {why}"));
        let mut labels: Vec<Vec<u8>> = Vec::new();
        let mut label = Vec::new();
        let mut bytes = text.bytes().peekable();
        if text == "." {
            return Ok(Self::root());
        }
        while let Some(b) = bytes.next() {
            match b {
                b'.' if label.is_empty() => return Err(bad("an empty label")),
                b'.' => labels.push(std::mem::take(&mut label)),
                b'\\' => {
                    let first = bytes.next().ok_or_else(|| bad("it ends in an escape"))?;
                    if first.is_ascii_digit() {
                        let mut value = u32::from(first - b'0');
                        for _ in 0..2 {
                            let digit = bytes.next().filter(u8::is_ascii_digit);
                            let digit = digit.ok_or_else(|| bad("an escape needs three digits"))?;
                            value = value * 10 + u32::from(digit - b'0');
                        }
                        label.push(u8::try_from(value).map_err(|_| bad("an escape is above 255"))?);
                    } else {
                        label.push(first);
                    }
                }
                b => label.push(b),
            }
        }
        if !label.is_empty() {
            labels.push(label);
        }
        if labels.iter().any(|l| l.len() > 63) {
            return Err(bad("a label is longer than 63 octets"));
        }
        let name = Self::from_labels(labels.iter().map(Vec::as_slice));
        if name.0.len() > 255 { Err(bad("it is longer than 255 octets")) } else { Ok(name) }
    }

    /// The caller keeps labels within 63 octets; longer ones are cut there.
    pub fn from_labels<'a>(labels: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut wire = Vec::new();
        for label in labels {
            let label = &label[..label.len().min(63)];
            wire.push(label.len() as u8);
            wire.extend_from_slice(label);
        }
        wire.push(0);
        Self(wire)
    }

    pub fn wire(&self) -> &[u8] {
        &self.0
    }

    /// The labels from the left, without the root.
    pub fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.0.as_slice();
        std::iter::from_fn(move || {
            let (&n, tail) = rest.split_first()?;
            if n == 0 || tail.len() < usize::from(n) {
                return None;
            }
            let (label, tail) = tail.split_at(usize::from(n));
            rest = tail;
            Some(label)
        })
    }

    /// Reads a name at `at` in `message`, following compression pointers. Returns the name and the offset
    /// behind it, or why it cannot be read.
    pub fn read(message: &[u8], at: usize) -> std::result::Result<(Self, usize), &'static str> {
        let mut wire = Vec::new();
        let mut place = at;
        let mut end = None;
        // More jumps than a name can have labels: a loop.
        let mut jumps = 0;
        loop {
            let &n = message.get(place).ok_or("name runs past the end")?;
            match n {
                0 => {
                    wire.push(0);
                    return Ok((Self(wire), end.unwrap_or(place + 1)));
                }
                1..=63 => {
                    let label =
                        message.get(place..place + 1 + usize::from(n)).ok_or("label runs past the end")?;
                    wire.extend_from_slice(label);
                    place += label.len();
                }
                0xc0.. => {
                    let &low = message.get(place + 1).ok_or("pointer runs past the end")?;
                    end.get_or_insert(place + 2);
                    place = usize::from(n & 0x3f) << 8 | usize::from(low);
                    jumps += 1;
                    if jumps > 128 {
                        return Err("pointers go in a loop");
                    }
                }
                _ => return Err("label of an unknown kind"),
            }
            if wire.len() > 4096 {
                return Err("name without end");
            }
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == [0] {
            return f.write_str(".");
        }
        for label in self.labels() {
            for &b in label {
                match b {
                    b'.' | b'\\' | b'"' | b';' | b'(' | b')' | b'@' | b'$' => write!(f, "\\{}", b as char)?,
                    0x21..=0x7e => write!(f, "{}", b as char)?,
                    _ => write!(f, "\\{b:03}")?,
                }
            }
            f.write_str(".")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presentation_round_trip() {
        for (text, shown) in [
            (".", "."),
            ("a.B", "a.B."),
            (r"a\.b\032c.org.", r"a\.b\032c.org."),
            (r"\255\000.", r"\255\000."),
            ("*.x.", "*.x."),
        ] {
            assert_eq!(Name::parse(text).unwrap().to_string(), shown);
        }
        for bad in ["a..b", r"a\25", r"a\256", "\\", ".a", &"x".repeat(64)] {
            assert!(Name::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn pointers() {
        let message = b"\x01a\x00\x01b\xc0\x00\xc0\x07\xc0";
        assert_eq!(Name::read(message, 3), Ok((Name::parse("b.a").unwrap(), 7)));
        assert_eq!(Name::read(message, 7), Err("pointers go in a loop"));
        assert_eq!(Name::read(message, 9), Err("pointer runs past the end"));
        assert_eq!(Name::read(message, 99), Err("name runs past the end"));
        assert_eq!(Name::read(b"\x40", 0), Err("label of an unknown kind"));
    }
}
