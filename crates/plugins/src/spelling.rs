//! A name as text without the heap: most queries are no business of rules, patterns and expressions.

use std::fmt::{self, Write};
use std::ops::Deref;

use wire::Name;

/// Each of a name's 255 octets may be written in four characters.
const MOST: usize = 4 * 255;

/// A name in lower case, with the closing dot.
pub(crate) struct Spelling {
    bytes: [u8; MOST],
    len: usize,
}

impl Spelling {
    pub fn of(lower: Name<'_>) -> Self {
        let mut spelling = Self { bytes: [0; MOST], len: 0 };
        // It has the room for any name.
        let _ = write!(spelling, "{lower}");
        spelling
    }
}

impl Deref for Spelling {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for Spelling {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}
