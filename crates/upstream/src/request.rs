//! Requests about a zone to its servers, over a session: UPDATE (RFC 2136), NOTIFY (RFC 1996) and the serial.

use std::fmt;

use wire::message::{Header, Reader, Record, Writer};
use wire::{Class, Flags, Name, Opcode, Rcode, Rtype, Section};

use crate::Error;
use crate::session::Messages;

/// Why a request or a transfer failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The connection failed, or a signature is wrong.
    Session(Error),
    /// The server answered with this code.
    Rcode(Rcode),
    /// The reply breaks the protocol.
    Invalid(&'static str),
    /// The request is longer than a message can be.
    TooLong,
    /// The transfer exceeds a limit: octets, records or time.
    Limit(&'static str),
    /// The receiver of the records rejects them.
    Sink(String),
}

pub(crate) const MALFORMED: RequestError = RequestError::Invalid("malformed record");

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::Session(error) => error.fmt(f),
            RequestError::Rcode(rcode) => write!(f, "the server answered {rcode}"),
            RequestError::Invalid(why) => write!(f, "invalid reply: {why}"),
            RequestError::TooLong => f.write_str("the request is longer than 65535 octets"),
            RequestError::Limit(what) => write!(f, "the transfer exceeds its limit of {what}"),
            RequestError::Sink(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for RequestError {}

impl From<Error> for RequestError {
    fn from(error: Error) -> RequestError {
        RequestError::Session(error)
    }
}

/// A condition of an update (RFC 2136 §2.4).
#[derive(Clone, Copy, Debug)]
pub enum Prerequisite<'a> {
    NameInUse(Name<'a>),
    NameNotInUse(Name<'a>),
    RrsetExists(Name<'a>, Rtype),
    RrsetAbsent(Name<'a>, Rtype),
    /// The record set consists of this record and the others given of its name and type.
    Equals(Record<'a>),
}

/// A change of an update (RFC 2136 §2.5).
#[derive(Clone, Copy, Debug)]
pub enum Edit<'a> {
    Add(Record<'a>),
    Delete(Record<'a>),
    DeleteRrset(Name<'a>, Rtype),
    DeleteName(Name<'a>),
}

impl<'a> Prerequisite<'a> {
    fn record(self) -> Record<'a> {
        match self {
            Prerequisite::NameInUse(owner) => empty(owner, Rtype::ANY, Class::ANY),
            Prerequisite::NameNotInUse(owner) => empty(owner, Rtype::ANY, Class::NONE),
            Prerequisite::RrsetExists(owner, rtype) => empty(owner, rtype, Class::ANY),
            Prerequisite::RrsetAbsent(owner, rtype) => empty(owner, rtype, Class::NONE),
            Prerequisite::Equals(record) => Record { ttl: 0, ..record },
        }
    }
}

impl<'a> Edit<'a> {
    fn record(self) -> Record<'a> {
        match self {
            Edit::Add(record) => record,
            Edit::Delete(record) => Record { class: Class::NONE, ttl: 0, ..record },
            Edit::DeleteRrset(owner, rtype) => empty(owner, rtype, Class::ANY),
            Edit::DeleteName(owner) => empty(owner, Rtype::ANY, Class::ANY),
        }
    }
}

fn empty(owner: Name<'_>, rtype: Rtype, class: Class) -> Record<'_> {
    Record { owner, rtype, class, ttl: 0, data: &[] }
}

/// Updates a zone: all edits or, if a prerequisite does not hold, none.
pub async fn update<S: Messages>(
    session: &mut S,
    zone: Name<'_>,
    prerequisites: &[Prerequisite<'_>],
    edits: &[Edit<'_>],
) -> Result<(), RequestError> {
    let mut request = Request::new(Opcode::UPDATE, zone, Rtype::SOA);
    for prerequisite in prerequisites {
        request.writer.record(Section::Answer, &prerequisite.record());
    }
    for edit in edits {
        request.writer.record(Section::Authority, &edit.record());
    }
    request.exchange(session).await
}

/// Tells a secondary that a zone has changed, with its new SOA record if it is known.
pub async fn notify<S: Messages>(
    session: &mut S,
    zone: Name<'_>,
    soa: Option<&Record<'_>>,
) -> Result<(), RequestError> {
    let mut request = Request::new(Opcode::NOTIFY, zone, Rtype::SOA);
    if let Some(soa) = soa {
        request.writer.record(Section::Answer, soa);
    }
    request.exchange(session).await
}

/// The serial of the zone on this server.
pub async fn serial<S: Messages>(session: &mut S, zone: Name<'_>) -> Result<u32, RequestError> {
    let expected = Request::new(Opcode::QUERY, zone, Rtype::SOA).send(session).await?;
    let mut message = Vec::new();
    session.receive(&mut message).await?;
    let mut reply = reader(&message)?;
    expected.check(&mut reply, true)?;
    while let Some((section, record)) = reply.record().map_err(|_| MALFORMED)? {
        if section == Section::Answer
            && record.owner.eq_ignore_case(zone)
            && let Some(serial) = record.serial()
        {
            return Ok(serial);
        }
    }
    Err(RequestError::Invalid("it has no SOA of the zone"))
}

/// A request about a zone.
pub(crate) struct Request<'a> {
    pub(crate) writer: Writer,
    pub(crate) expected: Expected<'a>,
}

/// What a reply must repeat.
#[derive(Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) id: u16,
    pub(crate) opcode: Opcode,
    pub(crate) zone: Name<'a>,
    pub(crate) qtype: Rtype,
}

impl<'a> Request<'a> {
    pub(crate) fn new(opcode: Opcode, zone: Name<'a>, qtype: Rtype) -> Request<'a> {
        let id = rand::random();
        let flags = Flags::default().with(Flags::AA, opcode == Opcode::NOTIFY);
        let mut writer = Writer::new(Header { id, opcode, flags, rcode: Rcode::NOERROR });
        writer.question(zone, qtype, Class::IN);
        Request { writer, expected: Expected { id, opcode, zone, qtype } }
    }

    pub(crate) async fn send<S: Messages>(self, session: &mut S) -> Result<Expected<'a>, RequestError> {
        let message = self.writer.finish().ok_or(RequestError::TooLong)?;
        session.send(&message).await?;
        Ok(self.expected)
    }

    async fn exchange<S: Messages>(self, session: &mut S) -> Result<(), RequestError> {
        let expected = self.send(session).await?;
        let mut reply = Vec::new();
        session.receive(&mut reply).await?;
        expected.check(&mut reader(&reply)?, false)
    }
}

pub(crate) fn reader(message: &[u8]) -> Result<Reader<'_>, RequestError> {
    Reader::new(message).map_err(|_| RequestError::Invalid("shorter than a header"))
}

impl Expected<'_> {
    /// Checks the header and question of a reply. Servers may leave out the question in a reply to an update, or in an
    /// error; in a transfer, the first message must have it (RFC 5936 §2.2.1).
    pub(crate) fn check(&self, reply: &mut Reader<'_>, needs_question: bool) -> Result<(), RequestError> {
        let Header { id, opcode, flags, rcode } = reply.header();
        if id != self.id || opcode != self.opcode || !flags.has(Flags::QR) {
            return Err(RequestError::Invalid("it is not a reply to this request"));
        }
        if rcode != Rcode::NOERROR {
            return Err(RequestError::Rcode(rcode));
        }
        if flags.has(Flags::TC) {
            return Err(RequestError::Invalid("it is truncated"));
        }
        match reply.question().map_err(|_| RequestError::Invalid("malformed question"))? {
            None if needs_question => Err(RequestError::Invalid("it has no question")),
            Some((name, qtype, qclass))
                if !name.eq_ignore_case(self.zone) || qtype != self.qtype || qclass != Class::IN =>
            {
                Err(RequestError::Invalid("it has another question"))
            }
            _ => Ok(()),
        }
    }
}
