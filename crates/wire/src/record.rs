//! Records of a reply.

use crate::{Class, Name, Rtype};

/// The sections of a message that contain records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    Answer,
    Authority,
    Additional,
}

/// The owner name of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The suffix of the question's name that begins at this octet; 0 is the whole name. It keeps the client's case
    /// and is a two-byte pointer on the wire.
    Question(u8),
    /// A name in the reply's arena.
    Stored { at: u32, len: u8 },
}

/// One record; its RDATA is uncompressed in the reply's arena.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub owner: Owner,
    pub rtype: Rtype,
    pub class: Class,
    pub ttl: u32,
    pub(crate) data_at: u32,
    pub(crate) data_len: u16,
}

/// Writes RDATA into a reply's arena.
pub struct Rdata<'a> {
    pub(crate) arena: &'a mut Vec<u8>,
}

impl Rdata<'_> {
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.arena.push(value);
        self
    }

    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.arena.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.arena.extend_from_slice(&value.to_be_bytes());
        self
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.arena.extend_from_slice(bytes);
        self
    }

    pub fn name(&mut self, name: Name<'_>) -> &mut Self {
        self.arena.extend_from_slice(name.wire());
        self
    }

    /// A character string, truncated to 255 octets.
    pub fn text(&mut self, text: &[u8]) -> &mut Self {
        let text = &text[..text.len().min(255)];
        self.arena.push(text.len() as u8);
        self.arena.extend_from_slice(text);
        self
    }
}
