//! `acl [ZONES...] { allow|block|filter|drop [type QTYPE...|*] [net SOURCE...|*] }`

use corefile::reverse::Prefix;
use corefile::{Diagnostic, Dispenser};
use golang::quoted;
use server::Setup;
use wire::Rtype;

use super::counters::Counters;
use super::sources::Sources;
use super::{Acl, Action, Policy, Rule, Types};

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut acl = Acl { zones: Vec::new(), rules: Vec::new(), counters: Counters::default() };
    while s.c.next() {
        let args = s.c.remaining_args();
        let first = acl.zones.len();
        acl.zones.extend(s.zones(&args));
        let mut policies = Vec::new();
        while s.c.next_block() {
            policies.push(policy(&mut s.c)?);
        }
        acl.rules.push(Rule { zones: first..acl.zones.len(), policies });
    }
    s.add(acl);
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
    let (mut types, mut networks) = (Wanted::All, Wanted::All);
    let mut rest = &args[..];
    while let Some((title, after)) = rest.split_first() {
        if !is_title(title) {
            return Err(c.err(format_args!("unexpected token {}; expect 'type | net'", quoted(title))));
        }
        let title = title.to_lowercase();
        let end = after.iter().position(|word| is_title(word)).unwrap_or(after.len());
        let (words, others) = after.split_at(end);
        rest = others;
        if words.is_empty() {
            return Err(c.err(format_args!("no token specified in {} section", quoted(&title))));
        }
        match title.as_str() {
            "type" => types.read(words, |word| qtype(c, word))?,
            _ => networks.read(words, |word| network(c, word))?,
        }
    }
    Ok(Policy {
        action,
        types: match types {
            // The type 0 has the name None, and CoreDNS takes it for every type.
            Wanted::These(types) if !types.contains(&Rtype::NONE) => Types::These(types),
            _ => Types::All,
        },
        sources: match networks {
            Wanted::These(networks) => Sources::new(&networks),
            _ => Sources::everybody(),
        },
        line,
    })
}

fn is_title(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "type" | "net")
}

/// What the sections of one title ask for, all together.
enum Wanted<T> {
    /// There is no such section.
    All,
    These(Vec<T>),
    /// One of them had a `*`.
    Star,
}

impl<T> Wanted<T> {
    /// Reads one more section. What stands behind a `*` is not looked at, as in CoreDNS.
    fn read<E>(&mut self, words: &[&str], parse: impl Fn(&str) -> Result<T, E>) -> Result<(), E> {
        if let Wanted::All = self {
            *self = Wanted::These(Vec::new());
        }
        for word in words {
            if *word == "*" {
                *self = Wanted::Star;
                break;
            }
            let parsed = parse(word)?;
            if let Wanted::These(these) = self {
                these.push(parsed);
            }
        }
        Ok(())
    }
}

/// A type by its name, in the one spelling it has.
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
