//! `acl [ZONES...] { allow|block|filter|drop [type QTYPE...|*] [net SOURCE...|*] }`

use std::sync::Arc;

use corefile::reverse::Prefix;
use corefile::{Diagnostic, Dispenser};
use golang::quoted;
use server::Setup;
use wire::Rtype;

use super::counters::Counters;
use super::sources::Sources;
use super::{Acl, Action, NAME, Policy, Rule, Types};

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let (mut zones, mut rules) = (Vec::new(), Vec::new());
    while s.c.next() {
        let args = s.c.remaining_args();
        let first = zones.len();
        zones.extend(s.zones(&args));
        let mut policies = Vec::new();
        while s.c.next_block() {
            policies.push(policy(&mut s.c)?);
        }
        rules.push(Rule { zones: first..zones.len(), policies });
    }
    s.add_linked(NAME, move |link| {
        let counters = Counters::new(link, &zones);
        Ok(Arc::new(Acl { zones, rules, counters }))
    });
    Ok(())
}

fn policy(c: &mut Dispenser<'_>) -> Result<Policy, Diagnostic> {
    let word = c.val();
    let action = match word.to_lowercase().as_str() {
        "allow" => Action::Allow,
        "block" => Action::Block,
        "filter" => Action::Filter,
        "drop" => Action::Drop,
        _ => {
            let expected = "'allow', 'block', 'filter' or 'drop'";
            return Err(c.err(format_args!("unexpected token {}; expect {expected}", quoted(word))));
        }
    };
    let args = c.remaining_args();
    let line = format!("{} ({}:{})", [&[word], &args[..]].concat().join(" "), c.file(), c.line());
    let (mut types, mut networks) = (Selection::Unset, Selection::Unset);
    let mut rest = &args[..];
    while let Some((keyword, after)) = rest.split_first() {
        if !is_keyword(keyword) {
            return Err(c.err(format_args!("unexpected token {}; expect 'type | net'", quoted(keyword))));
        }
        let keyword = keyword.to_lowercase();
        let end = after.iter().position(|word| is_keyword(word)).unwrap_or(after.len());
        let (words, others) = after.split_at(end);
        rest = others;
        if words.is_empty() {
            return Err(c.err(format_args!("no token specified in {} section", quoted(&keyword))));
        }
        match keyword.as_str() {
            "type" => types.read(words, |word| qtype(c, word))?,
            _ => networks.read(words, |word| network(c, word))?,
        }
    }
    Ok(Policy {
        action,
        types: match types {
            // CoreDNS takes `None`, the mnemonic of type 0, for every type.
            Selection::List(types) if !types.contains(&Rtype::NONE) => Types::These(types),
            _ => Types::All,
        },
        sources: match networks {
            Selection::List(networks) => Sources::new(&networks),
            _ => Sources::all(),
        },
        line,
    })
}

fn is_keyword(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "type" | "net")
}

/// The values of all sections with one keyword.
enum Selection<T> {
    /// No such section.
    Unset,
    List(Vec<T>),
    /// One of the sections has a `*`.
    Any,
}

impl<T> Selection<T> {
    /// Parses one more section. Words after a `*` are ignored, as in CoreDNS.
    fn read<E>(&mut self, words: &[&str], parse: impl Fn(&str) -> Result<T, E>) -> Result<(), E> {
        if let Selection::Unset = self {
            *self = Selection::List(Vec::new());
        }
        for word in words {
            if *word == "*" {
                *self = Selection::Any;
                break;
            }
            let parsed = parse(word)?;
            if let Selection::List(values) = self {
                values.push(parsed);
            }
        }
        Ok(())
    }
}

/// A type by its mnemonic, case-sensitive.
fn qtype(c: &Dispenser<'_>, word: &str) -> Result<Rtype, Diagnostic> {
    let found = Rtype::from_mnemonic(word).filter(|found| found.mnemonic() == Some(word));
    found.ok_or_else(|| c.err(format_args!("unexpected token {}; expect legal QTYPE", quoted(word))))
}

/// A network, or a single address.
fn network(c: &Dispenser<'_>, word: &str) -> Result<Prefix, Diagnostic> {
    let suffix = match (word.contains('/'), word.contains(':')) {
        (true, _) => "",
        (false, true) => "/128",
        (false, false) => "/32",
    };
    let text = format!("{word}{suffix}");
    Prefix::parse(&text).ok_or_else(|| c.err(format_args!("illegal CIDR notation {}", quoted(&text))))
}
