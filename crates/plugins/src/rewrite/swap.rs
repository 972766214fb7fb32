//! `type FROM TO` and `class FROM TO`: rewrites the query type or class.

use golang::quoted;
use wire::{Class, Rtype};

use super::CurrentQuestion;
use super::revert::Revert;

pub(super) struct Type {
    from: Rtype,
    to: Rtype,
}

pub(super) struct ClassRule {
    from: Class,
    to: Class,
}

impl Type {
    pub fn parse(args: &[String]) -> Result<Type, String> {
        let (from, to) = two_arguments("type", args)?;
        let read = |word: &str| {
            // Mnemonics of numbers that are never queried.
            Rtype::from_mnemonic(word)
                .filter(|rtype| ![Rtype::NONE, Rtype::RESERVED].contains(rtype))
                .ok_or_else(|| format!("invalid type {}", quoted(&word.to_uppercase())))
        };
        Ok(Type { from: read(from)?, to: read(to)? })
    }

    pub fn apply(&self, current: &mut CurrentQuestion) -> Option<Vec<Revert>> {
        (current.qtype == self.from).then(|| {
            current.qtype = self.to;
            Vec::new()
        })
    }
}

impl ClassRule {
    pub fn parse(args: &[String]) -> Result<ClassRule, String> {
        let (from, to) = two_arguments("class", args)?;
        let read = |word: &str| {
            let any = word.eq_ignore_ascii_case("ANY").then_some(Class::ANY);
            any.or_else(|| Class::from_mnemonic(word))
                .ok_or_else(|| format!("invalid class {}", quoted(&word.to_uppercase())))
        };
        Ok(ClassRule { from: read(from)?, to: read(to)? })
    }

    pub fn apply(&self, current: &mut CurrentQuestion) -> Option<Vec<Revert>> {
        (current.qclass == self.from).then(|| {
            current.qclass = self.to;
            Vec::new()
        })
    }
}

fn two_arguments<'a>(field: &str, args: &'a [String]) -> Result<(&'a str, &'a str), String> {
    match args {
        [from, to] => Ok((from, to)),
        _ => Err(format!("{field} rules must have exactly two arguments")),
    }
}
