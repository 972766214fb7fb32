//! `template CLASS TYPE [ZONES...] { match REGEX...; var NAME EXPRESSION; expr EXPRESSION;
//! answer|additional|authority RECORD...; rcode CODE; ederror CODE [TEXT]; fallthrough [ZONES...]; upstream }`

use std::sync::Arc;

use corefile::{Diagnostic, Dispenser};
use golang::{Regexp, parse_uint};
use server::Setup;
use wire::{Class, Rcode, Rtype, Section};

use super::conditions::Conditions;
use super::counters::Counters;
use super::record::RecordTemplate;
use super::{NAME, Template, Templates, Zone};
use crate::autopath::ReturnsCode;
use crate::options::Fallthrough;

/// The maximum length of a regular expression.
const MAX_PATTERN: usize = 10_000;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut templates = Vec::new();
    let mut zones = 0;
    while s.c.next() {
        let template = template(s, zones)?;
        zones += template.zones.len();
        templates.push(template);
    }
    s.add_linked(NAME, move |link| {
        let zones = templates.iter().flat_map(|template: &Template| &template.zones);
        let counters = Counters::new(link, zones.map(|zone| zone.text.as_str()));
        Ok(Arc::new(Templates { templates, counters }))
    });
    s.offer(Arc::new(ReturnsCode));
    Ok(())
}

fn template(s: &mut Setup<'_>, first_zone: usize) -> Result<Template, Diagnostic> {
    let place = format!("template at {}:{}", s.c.file(), s.c.line());
    if !s.c.next_arg() {
        return Err(s.c.arg_err());
    }
    let class = class(s.c.val()).ok_or_else(|| s.c.err(format_args!("invalid query class {}", s.c.val())))?;
    if !s.c.next_arg() {
        return Err(s.c.arg_err());
    }
    let rtype = Rtype::from_mnemonic(s.c.val()).filter(|found| found.mnemonic() == Some(s.c.val()));
    let rtype = rtype.ok_or_else(|| s.c.err(format_args!("invalid RR class {}", s.c.val())))?;
    let args = s.c.remaining_args();
    let zone =
        |(i, name): (usize, wire::NameBuf)| Zone { text: name.to_string(), name, number: first_zone + i };
    let mut template = Template {
        class,
        rtype,
        zones: s.zones(&args).into_iter().enumerate().map(zone).collect(),
        patterns: Vec::new(),
        conditions: Conditions::new(),
        records: Vec::new(),
        rcode: Rcode::NOERROR,
        extended_error: None,
        fallthrough: Fallthrough::default(),
        place,
    };
    while s.c.next_block() {
        option(&mut s.c, &mut template)?;
    }
    if template.patterns.is_empty() {
        template.patterns.extend(Regexp::compile(".*").ok());
    }
    // Rendered in this order; the first failure is the one reported.
    let order = |section: Section| match section {
        Section::Answer => 0,
        Section::Additional => 1,
        Section::Authority => 2,
    };
    template.records.sort_by_key(|(section, _)| order(*section));
    Ok(template)
}

fn option(c: &mut Dispenser<'_>, template: &mut Template) -> Result<(), Diagnostic> {
    match c.val() {
        "match" => patterns(c, template),
        "answer" => records(c, template, Section::Answer),
        "additional" => records(c, template, Section::Additional),
        "authority" => records(c, template, Section::Authority),
        "var" => {
            let args = c.remaining_args();
            let [name, source @ ..] = &args[..] else { return Err(c.arg_err()) };
            if source.is_empty() {
                return Err(c.arg_err());
            }
            template.conditions.add_variable(name, &source.join(" ")).map_err(|error| c.err(error))
        }
        "expr" => {
            let args = c.remaining_args();
            if args.is_empty() {
                return Err(c.arg_err());
            }
            template.conditions.add_condition(&args.join(" ")).map_err(|error| c.err(error))
        }
        "rcode" => {
            if !c.next_arg() {
                return Err(c.arg_err());
            }
            let found = Rcode::from_mnemonic(c.val()).filter(|found| found.mnemonic() == Some(c.val()));
            // An old mnemonic that CoreDNS still accepts.
            let found = found.or((c.val() == "NOTIMPL").then_some(Rcode::NOTIMP));
            template.rcode = found.ok_or_else(|| c.err(format_args!("unknown rcode {}", c.val())))?;
            Ok(())
        }
        "ederror" => {
            template.extended_error = Some(extended_error(c)?);
            Ok(())
        }
        "fallthrough" => {
            template.fallthrough = Fallthrough::from_args(&c.remaining_args());
            Ok(())
        }
        "upstream" => {
            c.remaining_args();
            Ok(())
        }
        _ => Err(c.arg_err()),
    }
}

fn patterns(c: &mut Dispenser<'_>, template: &mut Template) -> Result<(), Diagnostic> {
    let args = c.remaining_args();
    if args.is_empty() {
        return Err(c.arg_err());
    }
    for source in args {
        if source.len() > MAX_PATTERN {
            let len = source.len();
            return Err(c.err(format_args!("regex pattern too long: {len} > {MAX_PATTERN}")));
        }
        let pattern = Regexp::compile(source)
            .map_err(|error| c.err(format_args!("could not parse regex: {source}, {error}")))?;
        template.patterns.push(pattern);
    }
    Ok(())
}

fn records(c: &mut Dispenser<'_>, template: &mut Template, section: Section) -> Result<(), Diagnostic> {
    let args = c.remaining_args();
    if args.is_empty() {
        return Err(c.arg_err());
    }
    for text in args {
        let record = RecordTemplate::parse(section, text)
            .map_err(|error| c.err(format_args!("could not compile template: {}, {error}", c.val())))?;
        template.records.push((section, record));
    }
    Ok(())
}

/// Encodes code and text as option data (RFC 8914 §2).
fn extended_error(c: &mut Dispenser<'_>) -> Result<Vec<u8>, Diagnostic> {
    let args = c.remaining_args();
    let (code, text) = match args[..] {
        [code] => (code, ""),
        [code, text] => (code, text),
        _ => return Err(c.arg_err()),
    };
    let code = parse_uint(code.as_bytes(), 10, 16)
        .map_err(|error| c.err(format_args!("error parsing extended DNS error code {}, {error}", c.val())))?;
    let mut data = (code as u16).to_be_bytes().to_vec();
    data.extend_from_slice(text.as_bytes());
    Ok(data)
}

/// A class by its mnemonic, in upper case only.
fn class(word: &str) -> Option<Class> {
    if word == "ANY" {
        return Some(Class::ANY);
    }
    Class::from_mnemonic(word).filter(|found| found.mnemonic() == Some(word))
}
