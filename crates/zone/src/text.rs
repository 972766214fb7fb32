//! Zone text (RFC 1035 §5): zone files ([`ZoneFile`]), and single records ([`ZoneRecord::parse`]).
//!
//! Both read RDATA with one grammar. Zone files follow the RFCs, Knot and BIND, and errors have file, line and column.
//! Single records are those of templates: they accept and reject the same text as miekg/dns, CoreDNS's library, with the
//! same errors.

mod data;
mod fields;
mod file;
mod lex;
mod svcb;
#[cfg(test)]
mod tests;
mod write;

use std::fmt::{self, Write};

use fields::{Fields, absolute, duration, end_of_line};
use lex::{Kind, Lexer, Token, Tokens};
use wire::layout::{Field, layout};
use wire::{Class, NameBuf, Rtype};

pub use file::{FileError, NoIncludes, Position, Source, ZoneFile};
pub use write::write_zone;

/// TTL of a record without one.
const DEFAULT_TTL: u32 = 3600;

/// A parsed record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneRecord {
    pub owner: NameBuf,
    pub rtype: Rtype,
    pub class: Class,
    pub ttl: u32,
    /// `None` if the data has its type's syntax but no wire format, such as a string of more than 255 octets.
    pub data: Option<Vec<u8>>,
}

/// A parse error, displayed as miekg/dns does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneError(String);

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ZoneError {}

impl ZoneRecord {
    /// Parses the first record of a text whose origin is the root. `None` if it has no record.
    pub fn parse(text: &[u8]) -> Result<Option<ZoneRecord>, ZoneError> {
        // The last line may lack its line ending.
        let mut with_newline;
        let text = match text.last() {
            Some(last) if *last != b'\n' => {
                with_newline = text.to_vec();
                with_newline.push(b'\n');
                &with_newline
            }
            _ => text,
        };
        RecordReader::new(text).record().map_err(|problem| ZoneError(problem.to_string()))
    }
}

/// Reads the first record of a text, which must end with a line ending, as miekg/dns does.
struct RecordReader<'a> {
    lexer: Lexer<'a>,
    origin: NameBuf,
    ttl: u32,
    /// Whether `$TTL` set `ttl`; otherwise it is the last explicit TTL of a record.
    ttl_is_set: bool,
    owner: NameBuf,
}

/// Position within a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    AfterOwner,
    /// Type, class or TTL; the fields tell whether class and TTL were read.
    Head {
        class: bool,
        ttl: bool,
    },
    AfterHead {
        class: bool,
        ttl: bool,
    },
    Data,
}

/// The part of a record before its data.
struct Head {
    rtype: Rtype,
    class: Class,
    ttl: u32,
}

impl<'a> RecordReader<'a> {
    fn new(text: &'a [u8]) -> RecordReader<'a> {
        let (origin, owner) = (NameBuf::root(), NameBuf::root());
        RecordReader { lexer: Lexer::new(text), origin, ttl: DEFAULT_TTL, ttl_is_set: false, owner }
    }

    fn record(&mut self) -> Result<Option<ZoneRecord>, Problem> {
        let mut state = State::Start;
        let mut head = Head { rtype: Rtype::NONE, class: Class::IN, ttl: self.ttl };
        loop {
            let token = self.lexer.next();
            if token.bad {
                return Err(Problem::from_lexer(&token));
            }
            if token.kind == Kind::End {
                return Ok(None);
            }
            state = match state {
                State::Start => {
                    head = Head { rtype: Rtype::NONE, class: Class::IN, ttl: self.ttl };
                    self.start(&token, &mut head)?
                }
                State::AfterOwner => {
                    expect_blank(&token, "no blank after owner")?;
                    State::Head { class: false, ttl: false }
                }
                State::AfterHead { class, ttl } => {
                    expect_blank(
                        &token,
                        match (class, ttl) {
                            (true, true) => "no blank before RR type",
                            (true, false) => "no blank before class",
                            _ => "no blank before TTL",
                        },
                    )?;
                    State::Head { class, ttl }
                }
                State::Head { class, ttl } => self.head(&token, &mut head, class, ttl)?,
                State::Data => return self.data(&token, head).map(Some),
            };
        }
    }

    /// Reads the first token of a line.
    fn start(&mut self, token: &Token<'_>, head: &mut Head) -> Result<State, Problem> {
        match token.kind {
            Kind::Newline | Kind::Blank => {}
            Kind::Owner => {
                let owner = absolute(&token.text, &self.origin);
                self.owner = owner.ok_or_else(|| Problem::new("bad owner name", token))?;
                return Ok(State::AfterOwner);
            }
            Kind::Ttl => self.set_ttl()?,
            Kind::Origin => self.set_origin()?,
            Kind::Include => return Err(Problem::new("$INCLUDE directive not allowed", token)),
            Kind::Generate => return Err(Problem::new("$GENERATE directive not allowed", token)),
            Kind::Type(_) | Kind::Class(_) | Kind::Text => return self.head(token, head, false, false),
            Kind::Quote | Kind::End => return Err(Problem::new("syntax error at beginning", token)),
        }
        Ok(State::Start)
    }

    fn set_ttl(&mut self) -> Result<(), Problem> {
        const MESSAGE: &str = "expecting $TTL value, not this...";
        expect_blank(&self.lexer.next(), "no blank after $TTL-directive")?;
        let token = self.lexer.next();
        if token.kind != Kind::Text {
            return Err(Problem::new(MESSAGE, &token));
        }
        end_of_line(&mut self.lexer)?;
        self.ttl = duration(&token.text).ok_or_else(|| Problem::new(MESSAGE, &token))?;
        self.ttl_is_set = true;
        Ok(())
    }

    fn set_origin(&mut self) -> Result<(), Problem> {
        expect_blank(&self.lexer.next(), "no blank after $ORIGIN-directive")?;
        let token = self.lexer.next();
        if token.kind != Kind::Text {
            return Err(Problem::new("expecting $ORIGIN value, not this...", &token));
        }
        end_of_line(&mut self.lexer)?;
        let origin = absolute(&token.text, &self.origin);
        self.origin = origin.ok_or_else(|| Problem::new("bad origin name", &token))?;
        Ok(())
    }

    /// Reads type, class or TTL; class and TTL are in any order before the type.
    fn head(&mut self, token: &Token<'_>, head: &mut Head, class: bool, ttl: bool) -> Result<State, Problem> {
        match token.kind {
            Kind::Type(rtype) => {
                head.rtype = rtype;
                Ok(State::Data)
            }
            Kind::Class(found) if !class => {
                head.class = found;
                Ok(State::AfterHead { class: true, ttl })
            }
            Kind::Text if !ttl => {
                head.ttl = duration(&token.text).ok_or_else(|| Problem::new("not a TTL", token))?;
                if !self.ttl_is_set {
                    self.ttl = head.ttl;
                }
                Ok(State::AfterHead { class, ttl: true })
            }
            _ => Err(Problem::new(
                match (class, ttl) {
                    (false, false) => "expecting RR type, TTL or class, not this...",
                    (true, false) => "expecting RR type or TTL, not this...",
                    (false, true) => "expecting RR type or class, not this...",
                    (true, true) => "unknown RR type",
                },
                token,
            )),
        }
    }

    /// Reads the RDATA; `token` is the one after the type.
    fn data(&mut self, token: &Token<'_>, head: Head) -> Result<ZoneRecord, Problem> {
        let generic = &self.lexer.peek().text[..] == b"\\#";
        let owner = self.owner.clone();
        let record = |data| ZoneRecord { owner, rtype: head.rtype, class: head.class, ttl: head.ttl, data };
        // Dynamic updates have records without RDATA; so may templates.
        if self.lexer.peek().text.is_empty() {
            end_of_line(&mut self.lexer)?;
            return Ok(record(Some(empty_data(head.rtype))));
        }
        if token.kind == Kind::Newline {
            return Err(Problem::new("unexpected newline", token));
        }
        let mut data = Vec::with_capacity(64);
        let mut fields = Fields::new(&mut self.lexer, &self.origin, head.rtype, &mut data, false);
        let read = match data::grammar(head.rtype, false).filter(|_| !generic) {
            Some(forms) => fields.typed(forms),
            None => fields.generic(generic, token),
        };
        // An error at the end of the text has no position: report it at the start of the RDATA.
        read.map_err(|problem| match problem.line {
            0 => Problem::new(problem.message, token),
            _ => problem,
        })?;
        let unwritable = fields.unwritable;
        Ok(record(Some(data).filter(|data| !unwritable && data.len() <= usize::from(u16::MAX))))
    }
}

/// RDATA of a record written without any: numbers are 0, strings empty, names omitted.
fn empty_data(rtype: Rtype) -> Vec<u8> {
    let mut data = Vec::new();
    match rtype {
        Rtype::A | Rtype::AAAA => {}
        Rtype::ISDN | Rtype::L32 => data.resize(2, 0),
        _ => {
            for field in layout(rtype) {
                match field {
                    Field::Octets(count) => data.resize(data.len() + count, 0),
                    Field::Text => data.push(0),
                    Field::Texts | Field::Name | Field::PlainName | Field::Rest => {}
                }
            }
        }
    }
    data
}

fn expect_blank(token: &Token<'_>, message: &'static str) -> Result<(), Problem> {
    if token.kind == Kind::Blank { Ok(()) } else { Err(Problem::new(message, token)) }
}

/// A parse error and its token.
#[derive(Debug)]
pub(crate) struct Problem {
    /// In the words of miekg/dns.
    message: String,
    /// In the words of zone files; without them, those of miekg/dns.
    plain: Option<String>,
    token: Vec<u8>,
    line: usize,
    column: usize,
}

impl Problem {
    fn new(message: impl Into<String>, token: &Token<'_>) -> Problem {
        Problem {
            message: message.into(),
            // The text of an error token is the message.
            plain: token.bad.then(|| String::from_utf8_lossy(&token.text).into_owned()),
            token: token.text.to_vec(),
            line: token.line,
            column: token.column,
        }
    }

    /// With the error that a zone file reports, unless its lexer already reported one.
    fn expected(mut self, plain: String) -> Problem {
        self.plain.get_or_insert(plain);
        self
    }

    /// With another message of miekg/dns.
    fn renamed(mut self, message: &str) -> Problem {
        message.clone_into(&mut self.message);
        self
    }

    /// miekg/dns reports the last token that it read, zone files report the first of the field.
    fn reported_at(mut self, token: &Token<'_>, strict: bool) -> Problem {
        if !strict {
            self.token = token.text.to_vec();
            (self.line, self.column) = (token.line, token.column);
        }
        self
    }

    /// From an error token, whose text is the message.
    fn from_lexer(token: &Token<'_>) -> Problem {
        Problem::new(String::from_utf8_lossy(&token.text), token)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (message, token) = (&self.message, quoted(&self.token));
        write!(f, "dns: {message}: {token} at line: {}:{}", self.line, self.column)
    }
}

/// Quotes text as Go's `strconv.QuoteToASCII`.
fn quoted(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            let _ = match c {
                '"' | '\\' => write!(out, "\\{c}"),
                '\u{7}' => write!(out, "\\a"),
                '\u{8}' => write!(out, "\\b"),
                '\u{c}' => write!(out, "\\f"),
                '\n' => write!(out, "\\n"),
                '\r' => write!(out, "\\r"),
                '\t' => write!(out, "\\t"),
                '\u{b}' => write!(out, "\\v"),
                ' '..='~' => write!(out, "{c}"),
                c if c.is_ascii() => write!(out, "\\x{:02x}", u32::from(c)),
                c if u32::from(c) < 0x10000 => write!(out, "\\u{:04x}", u32::from(c)),
                c => write!(out, "\\U{:08x}", u32::from(c)),
            };
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}
