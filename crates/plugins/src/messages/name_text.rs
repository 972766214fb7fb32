//! The text of a name, without the heap: most queries do not match any rule, pattern or expression.

use std::fmt::{self, Write};
use std::ops::Deref;

use wire::Name;

/// Each of a name's 255 octets takes at most four characters.
const MAX_LEN: usize = 4 * 255;

/// A name in lower case, with the trailing dot.
pub(crate) struct NameText {
    bytes: [u8; MAX_LEN],
    len: usize,
}

impl NameText {
    pub fn of(lower: Name<'_>) -> Self {
        let mut text = Self { bytes: [0; MAX_LEN], len: 0 };
        // The buffer has room for any name.
        let _ = write!(text, "{lower}");
        text
    }
}

impl Deref for NameText {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for NameText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}
