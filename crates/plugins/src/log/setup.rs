//! ```text
//! log [NAMES...] [FORMAT] {
//!     class CLASSES...
//! }
//! ```

use corefile::{Diagnostic, Dispenser};
use server::{Metadata, Setup};
use wire::NameBuf;

use super::format::{COMMON, Format, combined};
use super::{Log, Rule};
use crate::messages::kind::Classes;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut rules = Vec::new();
    while s.c.next() {
        let args = s.c.remaining_args();
        let (names, format) = match args[..] {
            [] => (&["."][..], COMMON.to_owned()),
            // A single argument is a name, even one with a brace.
            [_] => (&args[..], COMMON.to_owned()),
            [ref names @ .., last] if last.contains('{') => (names, expand(last)),
            _ => (&args[..], COMMON.to_owned()),
        };
        let format = Format::parse(&format);
        let classes = classes(&mut s.c)?;
        rules.extend(names.iter().map(|name| Rule { scope: scope(name), format: format.clone(), classes }));
    }
    let log = s.add(Log::new(rules));
    s.offer::<dyn Metadata>(log);
    Ok(())
}

fn expand(format: &str) -> String {
    format.replace("{common}", COMMON).replace("{combined}", &combined())
}

/// Parses the block. Without `class`, all classes are logged.
fn classes(c: &mut Dispenser<'_>) -> Result<Classes, Diagnostic> {
    let mut classes = Classes::default();
    while c.next_block() {
        if c.val() != "class" {
            return Err(c.unknown_property(&["class"]));
        }
        let words = c.remaining_args();
        if words.is_empty() {
            return Err(c.arg_err());
        }
        for word in words {
            let class = Classes::from_word(word);
            classes.add(class.ok_or_else(|| c.bare_err(format_args!("invalid Class: {word}")))?);
        }
    }
    Ok(if classes.is_empty() { Classes::ALL } else { classes })
}

/// The zone of a rule. An invalid name is accepted and matches nothing, as in CoreDNS.
fn scope(name: &str) -> Option<NameBuf> {
    let name = if name.is_empty() { "." } else { name };
    let mut scope = NameBuf::parse(name).ok()?;
    scope.make_lower();
    Some(scope)
}
