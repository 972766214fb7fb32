//! Zone files: records, `$ORIGIN`, `$TTL`, `$INCLUDE` and `$GENERATE`.
//!
//! ```text
//! text ──FileLexer──→ tokens ──Reader──→ owner, TTL, class, type ──Fields──→ RDATA ──→ the caller's function
//! ```
//!
//! A record with an error is skipped, and the next one is read, up to [`MAX_ERRORS`].

mod generate;
mod lex;
#[cfg(test)]
mod tests;
mod warn;

use std::fmt;
use std::ops::ControlFlow;

use generate::LineTemplate;
use lex::FileLexer;
use wire::form::{Form, forms};
use wire::{Class, Name, NameBuf, Rtype};

use super::data::grammar;
use super::fields::{Fields, NAME, end_of_line, period, push_name, unescaped};
use super::lex::{Kind, Token, Tokens};
use super::{DEFAULT_TTL, Problem};
use crate::contents::{Builder, Contents};
use crate::record::{Refusal, Soa};
use wire::message::Record;

/// Errors of one file after which reading stops.
const MAX_ERRORS: usize = 20;
/// Files that include each other, as in CoreDNS.
const MAX_DEPTH: usize = 8;
/// Files of one zone.
const MAX_INCLUDES: usize = 10_000;
/// Records of one zone from `$GENERATE`.
const MAX_GENERATED: usize = 1 << 22;

/// A zone file in memory.
pub struct ZoneFile<'a> {
    /// For errors, and for the paths of files that it includes.
    pub name: &'a str,
    pub text: &'a [u8],
    pub origin: &'a NameBuf,
}

/// Reads the files that a zone file includes.
pub trait Source {
    /// The file that `path` means in the file `from`: its name, and its contents.
    fn read(&mut self, path: &str, from: &str) -> Result<(String, Vec<u8>), String>;
}

/// A source that refuses `$INCLUDE`.
pub struct NoIncludes;

impl Source for NoIncludes {
    fn read(&mut self, _path: &str, _from: &str) -> Result<(String, Vec<u8>), String> {
        Err("$INCLUDE is not allowed here".into())
    }
}

/// Where a record or an error is; lines and columns begin with 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position<'a> {
    pub file: &'a str,
    pub line: usize,
    pub column: usize,
}

/// An error in a zone file, displayed as `FILE:LINE:COLUMN: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    pub file: String,
    /// 0 if the error has no line, such as a missing record.
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl FileError {
    fn new(position: Position<'_>, message: String) -> FileError {
        FileError { file: position.file.to_owned(), line: position.line, column: position.column, message }
    }

    /// `FILE:LINE:COLUMN`, or the file alone.
    pub fn place(&self) -> String {
        match self.line {
            0 => self.file.clone(),
            _ => format!("{}:{}:{}", self.file, self.line, self.column),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.message)
    }
}

impl std::error::Error for FileError {}

impl ZoneFile<'_> {
    /// The owner of the first SOA record, if it does not depend on the origin that the file is read with.
    pub fn absolute_origin(name: &str, text: &[u8], source: &mut dyn Source) -> Option<NameBuf> {
        let unknown = NameBuf::parse("unknown\\000origin").ok()?;
        let mut found = None;
        // The text may have errors; whoever loads it reports them.
        let _ = ZoneFile { name, text, origin: &unknown }.read(source, &mut |record, _| {
            if record.rtype == Rtype::SOA && found.is_none() {
                found = Some(record.owner.to_buf());
            }
            Ok(())
        });
        found.filter(|origin| !origin.as_name().is_under(unknown.as_name()))
    }

    /// Calls `each` with all records. An error that it returns is reported at the record's position.
    pub fn read(
        &self,
        source: &mut dyn Source,
        each: &mut dyn FnMut(&Record<'_>, Position<'_>) -> Result<(), String>,
    ) -> Result<(), Vec<FileError>> {
        let mut reader = Reader {
            source,
            each,
            errors: Vec::new(),
            open: vec![self.name.to_owned()],
            includes: 0,
            generated: 0,
            name: Vec::new(),
            data: Vec::new(),
        };
        let mut context = Context {
            origin: self.origin.clone(),
            default_ttl: None,
            last_ttl: None,
            class: Class::IN,
            owner: None,
        };
        // A break only means that there are too many errors.
        let _ = reader.text(self.text, None, &mut context);
        if reader.errors.is_empty() { Ok(()) } else { Err(reader.errors) }
    }

    /// The contents of the zone.
    pub fn load(&self, source: &mut dyn Source) -> Result<Contents, Vec<FileError>> {
        let mut builder = Builder::new(self.origin.as_name(), Class::IN);
        self.read(source, &mut |record, _| builder.add(record).map_err(|refusal| refusal.to_string()))?;
        builder.finish().map_err(|refusal| vec![self.locate(&refusal, source)])
    }

    /// The error of records that cannot be in one zone, at the last of them. The file is read again, so that loading
    /// need not remember the position of every record.
    fn locate(&self, refusal: &Refusal, source: &mut dyn Source) -> FileError {
        let (owner, rtypes) = match refusal {
            Refusal::Several { owner, rtype } => (owner, [*rtype, *rtype]),
            Refusal::CnameAndOther { owner, other } => (owner, [Rtype::CNAME, *other]),
            _ => {
                return FileError {
                    file: self.name.into(),
                    line: 0,
                    column: 0,
                    message: refusal.to_string(),
                };
            }
        };
        let mut found =
            FileError { file: self.name.into(), line: 0, column: 0, message: refusal.to_string() };
        let _ = self.read(source, &mut |record, position| {
            if rtypes.contains(&record.rtype) && record.owner.to_lower().to_string() == *owner {
                found = FileError::new(position, refusal.to_string());
            }
            Ok(())
        });
        found
    }
}

struct Reader<'r> {
    source: &'r mut dyn Source,
    each: &'r mut dyn FnMut(&Record<'_>, Position<'_>) -> Result<(), String>,
    errors: Vec<FileError>,
    /// The files being read, each included by the one before.
    open: Vec<String>,
    includes: usize,
    generated: usize,
    /// Buffers of the current record.
    name: Vec<u8>,
    data: Vec<u8>,
}

/// What a record inherits from the lines before.
#[derive(Clone)]
struct Context {
    origin: NameBuf,
    /// From `$TTL`.
    default_ttl: Option<u32>,
    /// The last TTL that a record had.
    last_ttl: Option<u32>,
    class: Class,
    owner: Option<NameBuf>,
}

/// Line and column that `$GENERATE` gives to everything in its lines.
type Place = (usize, usize);

impl Reader<'_> {
    /// Reads the text of the innermost open file, or a line from `$GENERATE` at a place.
    fn text(&mut self, text: &[u8], place: Option<Place>, context: &mut Context) -> ControlFlow<()> {
        let mut lexer = FileLexer::new(text);
        loop {
            let first = lexer.next();
            if first.kind == Kind::End && !first.bad {
                return ControlFlow::Continue(());
            }
            let begins_line = first.line;
            let read = match first.kind {
                _ if first.bad => Err(Problem::from_lexer(&first)),
                Kind::Newline => continue,
                Kind::Blank if lexer.peek().is_end() => continue,
                Kind::Text if first.text.starts_with(b"$") && place.is_none() => {
                    match self.directive(&mut lexer, &first, context) {
                        Ok(flow) => {
                            flow?;
                            continue;
                        }
                        Err(problem) => Err(problem),
                    }
                }
                _ => self.record(&mut lexer, first, place, context),
            };
            if let Err(problem) = read {
                self.report(&problem, place)?;
                let unclosed = lexer.recover().map(|token| Problem::from_lexer(&token));
                if let Some(problem) = unclosed.filter(|problem| problem.line >= begins_line) {
                    self.report(&problem, place)?;
                }
            }
        }
    }

    fn file(&self) -> &str {
        self.open.last().map_or("", String::as_str)
    }

    fn report(&mut self, problem: &Problem, place: Option<Place>) -> ControlFlow<()> {
        let (line, column) = place.unwrap_or((problem.line, problem.column));
        let message = problem.plain.clone().unwrap_or_else(|| problem.message.clone());
        let error = FileError { file: self.file().to_owned(), line, column, message };
        // The same error in every line from `$GENERATE` is one.
        if self.errors.last() != Some(&error) {
            self.errors.push(error);
        }
        if self.errors.len() < MAX_ERRORS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn record(
        &mut self,
        lexer: &mut FileLexer<'_>,
        first: Token<'_>,
        place: Option<Place>,
        context: &mut Context,
    ) -> Result<(), Problem> {
        self.owner(&first, context)?;
        let (rtype, class, ttl) = head(lexer, context)?;
        context.class = class;
        skip_blank(lexer);
        let start = lexer.peek().clone();
        if start.is_end() {
            let expected =
                format!("{}: expected the data of the record, got the end of the line", rtype.zone_name());
            return Err(Problem::new("", &start).expected(expected));
        }
        self.data.clear();
        let mut fields = Fields::new(lexer, &context.origin, rtype, &mut self.data, true);
        let generic = &start.text[..] == b"\\#";
        match grammar(rtype, true).filter(|_| !generic) {
            Some(forms) => fields.typed(forms)?,
            None => fields.generic(generic, &start)?,
        }
        let unwritable = fields.unwritable;
        if unwritable || self.data.len() > usize::from(u16::MAX) {
            let expected = format!("{}: the data has no wire format", rtype.zone_name());
            return Err(Problem::new("", &start).expected(expected));
        }
        let soa = || Soa::parse(&self.data).filter(|_| rtype == Rtype::SOA).map(|soa| soa.minimum);
        if ttl.is_some() {
            context.last_ttl = ttl;
        } else if context.default_ttl.or(context.last_ttl).is_none() {
            // RFC 2308 §4: before $TTL there was, this was the SOA's minimum.
            context.last_ttl = soa();
        }
        let ttl = ttl.or(context.default_ttl).or(context.last_ttl).unwrap_or(DEFAULT_TTL);
        let Some(owner) = &context.owner else { return Ok(()) };
        let record = Record { owner: owner.as_name(), rtype, class, ttl, data: &self.data };
        let (line, column) = place.unwrap_or((first.line, first.column));
        let position = Position { file: self.open.last().map_or("", String::as_str), line, column };
        (self.each)(&record, position).map_err(|message| Problem::new("", &first).expected(message))
    }

    /// Sets the owner; without one, a record has that of the record before.
    fn owner(&mut self, first: &Token<'_>, context: &mut Context) -> Result<(), Problem> {
        if first.kind == Kind::Blank {
            return match context.owner {
                Some(_) => Ok(()),
                None => Err(Problem::new("", first)
                    .expected("expected an owner name: there is no record before".into())),
            };
        }
        self.name.clear();
        let is_name = first.kind == Kind::Text && push_name(&first.text, &context.origin, &mut self.name);
        let owner = Name::from_wire(&self.name).filter(|_| is_name);
        let owner = owner.ok_or_else(|| expected("an owner name", first))?;
        context.owner.get_or_insert(NameBuf::root()).set(owner);
        Ok(())
    }

    fn directive(
        &mut self,
        lexer: &mut FileLexer<'_>,
        first: &Token<'_>,
        context: &mut Context,
    ) -> Result<ControlFlow<()>, Problem> {
        skip_blank(lexer);
        match first.text.to_ascii_uppercase().as_slice() {
            b"$ORIGIN" => context.origin = origin(lexer, context)?,
            b"$TTL" => {
                let token = lexer.next();
                let ttl = period(&token.text).filter(|_| token.kind == Kind::Text);
                context.default_ttl = Some(ttl.ok_or_else(|| expected(TTL, &token))?);
            }
            b"$INCLUDE" => return self.include(lexer, context),
            b"$GENERATE" => return self.generate(lexer, context),
            _ => return Err(expected("$ORIGIN, $TTL, $INCLUDE or $GENERATE", first)),
        }
        end_of_line(lexer)?;
        Ok(ControlFlow::Continue(()))
    }

    /// `$INCLUDE FILE [ORIGIN]`: the file changes nothing for the lines after it.
    fn include(
        &mut self,
        lexer: &mut FileLexer<'_>,
        context: &mut Context,
    ) -> Result<ControlFlow<()>, Problem> {
        let start = lexer.next();
        let token = if start.kind == Kind::Quote { lexer.next() } else { start.clone() };
        if token.kind != Kind::Text {
            return Err(expected("the path of a file", &token));
        }
        if start.kind == Kind::Quote {
            lexer.next();
        }
        skip_blank(lexer);
        let mut inner = Context { owner: None, ..context.clone() };
        if !lexer.peek().is_end() {
            inner.origin = origin(lexer, context)?;
        }
        end_of_line(lexer)?;
        let path = String::from_utf8_lossy(&unescaped(&token.text)).into_owned();
        let refused =
            |message: String| Problem::new("", &start).expected(format!("$INCLUDE {path}: {message}"));
        if self.open.len() >= MAX_DEPTH {
            return Err(refused(format!("more than {MAX_DEPTH} files include each other")));
        }
        self.includes += 1;
        if self.includes > MAX_INCLUDES {
            return Err(refused(format!("more than {MAX_INCLUDES} files in one zone")));
        }
        let (name, text) =
            self.source.read(&path, self.open.last().map_or("", String::as_str)).map_err(&refused)?;
        if self.open.contains(&name) {
            return Err(refused("the file includes itself".into()));
        }
        self.open.push(name);
        let flow = self.text(&text, None, &mut inner);
        self.open.pop();
        Ok(flow)
    }

    fn generate(
        &mut self,
        lexer: &mut FileLexer<'_>,
        context: &mut Context,
    ) -> Result<ControlFlow<()>, Problem> {
        let start = lexer.next();
        let refused = |message: String| Problem::new("", &start).expected(message);
        if start.kind != Kind::Text {
            return Err(expected("a range START-STOP", &start));
        }
        let range = generate::range(&start.text).map_err(refused)?;
        skip_blank(lexer);
        let mut text = Vec::new();
        let mut rtype = None;
        loop {
            let token = lexer.next();
            match token.kind {
                _ if token.bad => return Err(Problem::from_lexer(&token)),
                Kind::Newline | Kind::End => break,
                // BIND reads one word of data; quotes only make one of several, except around strings.
                Kind::Quote if rtype.is_some_and(|rtype| !has_strings(rtype)) => continue,
                Kind::Text if rtype.is_none() && !text.is_empty() => {
                    let word = std::str::from_utf8(&token.text).unwrap_or_default();
                    rtype = Rtype::from_zone_name(word).filter(|_| Class::from_zone_name(word).is_none());
                }
                _ => {}
            }
            text.extend_from_slice(&token.text);
        }
        let template = LineTemplate::parse(&text).map_err(refused)?;
        let mut line = Vec::new();
        for number in range {
            self.generated += 1;
            if self.generated > MAX_GENERATED {
                return Err(refused(format!("$GENERATE: more than {MAX_GENERATED} records in one zone")));
            }
            line.clear();
            template.render(number, &mut line).map_err(refused)?;
            let errors = self.errors.len();
            let flow = self.text(&line, Some((start.line, start.column)), context);
            if flow.is_break() || self.errors.len() > errors {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn has_strings(rtype: Rtype) -> bool {
    let is_string = |form| {
        matches!(form, Form::Text | Form::Texts | Form::OptionalText | Form::Octets | Form::Parameters)
    };
    forms(rtype).is_none_or(|forms| forms.iter().any(|(form, _)| is_string(*form)))
}

const TTL: &str = "a TTL such as 3600 or 1h";

fn expected(what: &str, token: &Token<'_>) -> Problem {
    Problem::new("", token).expected(format!("expected {what}, got {}", token.shown()))
}

fn skip_blank(lexer: &mut FileLexer<'_>) {
    if lexer.peek().kind == Kind::Blank {
        lexer.next();
    }
}

fn origin(lexer: &mut FileLexer<'_>, context: &Context) -> Result<NameBuf, Problem> {
    let token = lexer.next();
    let name = super::fields::absolute(&token.text, &context.origin).filter(|_| token.kind == Kind::Text);
    name.ok_or_else(|| expected(NAME, &token))
}

/// Reads TTL and class, in any order, and the type.
fn head(lexer: &mut FileLexer<'_>, context: &Context) -> Result<(Rtype, Class, Option<u32>), Problem> {
    let (mut ttl, mut class) = (None, None);
    loop {
        skip_blank(lexer);
        let token = lexer.next();
        let text = std::str::from_utf8(&token.text).unwrap_or_default();
        if token.kind == Kind::Text && ttl.is_none() && text.starts_with(|c: char| c.is_ascii_digit()) {
            ttl = Some(period(&token.text).ok_or_else(|| expected(TTL, &token))?);
            continue;
        }
        let found = Some(text).filter(|_| token.kind == Kind::Text);
        if let Some(found) = found.and_then(Class::from_zone_name).filter(|_| class.is_none()) {
            class = Some(found);
            continue;
        }
        let what = match (ttl, class) {
            (None, None) => "a TTL, a class or a record type",
            (None, Some(_)) => "a TTL or a record type",
            (Some(_), None) => "a class or a record type",
            (Some(_), Some(_)) => "a record type",
        };
        let rtype = found.and_then(Rtype::from_zone_name).ok_or_else(|| expected(what, &token))?;
        return Ok((rtype, class.unwrap_or(context.class), ttl));
    }
}
