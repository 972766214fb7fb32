//! The TSIG record (RFC 8945 §4.2).

use wire::message::{self, Malformed, Reader, Record};
use wire::{Class, HEADER_LEN, NameBuf, Rcode, Rtype, Section};

use super::TsigError;

/// The content of a TSIG record. A server finds the key of a request by its name here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub key: NameBuf,
    pub algorithm: NameBuf,
    /// Seconds since 1970.
    pub time: u64,
    pub fudge: u16,
    pub mac: Vec<u8>,
    pub original_id: u16,
    pub error: Rcode,
    pub other: Vec<u8>,
}

impl Default for Signature {
    fn default() -> Signature {
        Signature {
            key: NameBuf::root(),
            algorithm: NameBuf::root(),
            time: 0,
            fudge: 0,
            mac: Vec::new(),
            original_id: 0,
            error: Rcode::NOERROR,
            other: Vec::new(),
        }
    }
}

impl Signature {
    /// Removes the signature from a message; None if it has none. It is the last record, if there is one.
    pub fn remove(message: &mut Vec<u8>) -> Result<Option<Signature>, TsigError> {
        let Some((signature, start)) = find(message).map_err(|_| TsigError::Malformed)? else {
            return Ok(None);
        };
        message.truncate(start);
        add_to_count(message, u16::MAX);
        Ok(Some(signature))
    }

    /// Appends the signature to a message.
    pub(super) fn append(&self, message: &mut Vec<u8>) {
        let data = [
            self.algorithm.wire(),
            &self.timers(),
            &(self.mac.len() as u16).to_be_bytes(),
            &self.mac,
            &self.original_id.to_be_bytes(),
            &self.error.0.to_be_bytes(),
            &(self.other.len() as u16).to_be_bytes(),
            &self.other,
        ]
        .concat();
        let (owner, rtype) = (self.key.as_name(), Rtype::TSIG);
        message::append(message, &Record { owner, rtype, class: Class::ANY, ttl: 0, data: &data });
        add_to_count(message, 1);
    }

    /// The variables that are signed (RFC 8945 §4.3.3), names in lower case.
    pub(super) fn variables(&self) -> Vec<u8> {
        [
            self.key.as_name().to_lower().wire(),
            &Class::ANY.0.to_be_bytes(),
            &[0; 4],
            self.algorithm.as_name().to_lower().wire(),
            &self.timers(),
            &self.error.0.to_be_bytes(),
            &(self.other.len() as u16).to_be_bytes(),
            &self.other,
        ]
        .concat()
    }

    /// Time and fudge, which are all that is signed of later replies.
    pub(super) fn timers(&self) -> Vec<u8> {
        [&self.time.to_be_bytes()[2..], &self.fudge.to_be_bytes()].concat()
    }

    fn read(owner: NameBuf, data: &[u8]) -> Option<Signature> {
        let mut algorithm = NameBuf::root();
        let at = algorithm.read(data, 0).ok()?;
        let mut fields = Fields(data.get(at..)?);
        let signature = Signature {
            key: owner,
            algorithm,
            time: fields.take(6)?.iter().fold(0, |time, octet| time << 8 | u64::from(*octet)),
            fudge: fields.number()?,
            mac: fields.sized()?,
            original_id: fields.number()?,
            error: Rcode(fields.number()?),
            other: fields.sized()?,
        };
        fields.0.is_empty().then_some(signature)
    }
}

/// The signature of a message and the offset of its record.
fn find(message: &[u8]) -> Result<Option<(Signature, usize)>, Malformed> {
    let mut reader = Reader::new(message)?;
    while reader.question()?.is_some() {}
    let mut found = None;
    loop {
        let start = reader.position();
        let Some((section, record)) = reader.record()? else { return Ok(found) };
        if found.is_some() {
            return Err(Malformed);
        }
        if record.rtype == Rtype::TSIG {
            if section != Section::Additional || record.class != Class::ANY {
                return Err(Malformed);
            }
            let signature = Signature::read(record.owner.to_buf(), record.data).ok_or(Malformed)?;
            found = Some((signature, start));
        }
    }
}

/// Adds to the number of additional records.
fn add_to_count(message: &mut [u8], number: u16) {
    if let Some(count) = message.get_mut(HEADER_LEN - 2..HEADER_LEN).and_then(<[u8]>::first_chunk_mut) {
        *count = u16::from_be_bytes(*count).wrapping_add(number).to_be_bytes();
    }
}

/// Reads the fields of RDATA.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (field, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(field)
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|number| u16::from_be_bytes(*number))
    }

    fn sized(&mut self) -> Option<Vec<u8>> {
        let len = usize::from(self.number()?);
        self.take(len).map(<[u8]>::to_vec)
    }
}
