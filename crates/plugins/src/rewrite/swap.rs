//! `type FROM TO` and `class FROM TO`: another type or class is asked below.

use golang::quoted;
use wire::{Class, Rtype};

use super::Asking;
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
        let (from, to) = two("type", args)?;
        let read = |word: &str| {
            // These stand for numbers nobody asks for.
            Rtype::from_mnemonic(word)
                .filter(|rtype| ![Rtype::NONE, Rtype::RESERVED].contains(rtype))
                .ok_or_else(|| format!("invalid type {}", quoted(&word.to_uppercase())))
        };
        Ok(Type { from: read(from)?, to: read(to)? })
    }

    pub fn apply(&self, asking: &mut Asking) -> Option<Vec<Revert>> {
        (asking.qtype == self.from).then(|| {
            asking.qtype = self.to;
            Vec::new()
        })
    }
}

impl ClassRule {
    pub fn parse(args: &[String]) -> Result<ClassRule, String> {
        let (from, to) = two("class", args)?;
        let read = |word: &str| {
            let any = word.eq_ignore_ascii_case("ANY").then_some(Class::ANY);
            any.or_else(|| Class::from_mnemonic(word))
                .ok_or_else(|| format!("invalid class {}", quoted(&word.to_uppercase())))
        };
        Ok(ClassRule { from: read(from)?, to: read(to)? })
    }

    pub fn apply(&self, asking: &mut Asking) -> Option<Vec<Revert>> {
        (asking.qclass == self.from).then(|| {
            asking.qclass = self.to;
            Vec::new()
        })
    }
}

fn two<'a>(field: &str, args: &'a [String]) -> Result<(&'a str, &'a str), String> {
    match args {
        [from, to] => Ok((from, to)),
        _ => Err(format!("{field} rules must have exactly two arguments")),
    }
}
