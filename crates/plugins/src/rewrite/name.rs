//! `name [KIND] FROM TO [metadata] [answer ...]`: rewrites the query name.

use std::sync::Arc;

use golang::quoted;
use server::Visit;

use super::CurrentQuestion;
use super::answer::{self, Answers};
use super::matcher::{Kind, Matcher, absolute, normal};
use super::pattern::{Pattern, PatternError};
use super::revert::{Mapper, Revert};

pub(super) struct Name {
    matcher: Matcher,
    to: Replacement,
    /// Map names in the reply back to the original name.
    auto: bool,
    answers: Vec<Revert>,
}

enum Replacement {
    Text(String),
    /// With placeholders for groups and metadata.
    Parts(Vec<Part>),
}

enum Part {
    Text(String),
    Group(usize),
    Label(String),
}

impl Name {
    pub fn parse(args: &[String]) -> Result<Name, String> {
        let (kind, from, to, rest) = match args {
            [from, to] => (Kind::Exact, from, to, &[][..]),
            [kind, from, to, rest @ ..] => match Kind::read(kind) {
                Some(kind) => (kind, from, to, rest),
                None => return Err(unknown_kind(kind, rest)),
            },
            _ => return Err("too few arguments for a name rule".into()),
        };
        let word = args[0].to_lowercase();
        let metadata = rest.first().is_some_and(|word| word == "metadata");
        if metadata && kind != Kind::Regex {
            return Err("metadata is only supported for regex name rules".into());
        }
        let rest = if metadata { &rest[1..] } else { rest };
        let Answers { auto, mut rules } =
            if rest.is_empty() { Answers::default() } else { answer::parse(&word, rest)? };
        if metadata {
            let pattern = compile(from, "")?;
            let parts = parts(&absolute(to), pattern.groups())?;
            return Ok(Name {
                matcher: Matcher::Regex(pattern),
                to: Replacement::Parts(parts),
                auto,
                answers: rules,
            });
        }
        let to_text = normal(to);
        let matcher = if kind == Kind::Regex {
            Matcher::Regex(compile(from, to)?)
        } else {
            let from = normal(from);
            if kind == Kind::Exact {
                // CoreDNS checks the new name as if it were a pattern.
                compile(&to_text, &from)?;
            }
            if kind == Kind::Suffix && auto {
                let back = Arc::new(Mapper::Suffix { from: to_text.clone(), to: from.clone() });
                rules.splice(..0, [Revert::Owner(back.clone()), Revert::Value(back)]);
            }
            Matcher::new(kind, from).map_err(|_| "invalid regex matching pattern".to_owned())?
        };
        let auto = match kind {
            Kind::Exact => true,
            Kind::Suffix => false,
            _ => auto,
        };
        Ok(Name { matcher, to: Replacement::Text(to_text), auto, answers: rules })
    }

    pub fn apply(&self, current: &mut CurrentQuestion, visit: &Visit<'_>) -> Option<Vec<Revert>> {
        let before = current.lower();
        let name = match &self.to {
            Replacement::Text(to) => self.matcher.rewritten(before, to)?,
            Replacement::Parts(parts) => self.filled(parts, before, visit)?,
        };
        let mut reverts = Vec::with_capacity(self.answers.len() + 2);
        if self.auto {
            let back = Arc::new(Mapper::Name { from: name.clone(), to: before.to_owned() });
            reverts.extend([Revert::Owner(back.clone()), Revert::Value(back)]);
        }
        reverts.extend(self.answers.iter().cloned());
        current.rewritten = Some(name);
        Some(reverts)
    }

    /// None if the name does not match or a metadata value is missing or empty.
    fn filled(&self, parts: &[Part], name: &str, visit: &Visit<'_>) -> Option<String> {
        let Matcher::Regex(pattern) = &self.matcher else { return None };
        let groups = pattern.find(name)?;
        let mut out = String::new();
        for part in parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Group(number) => out.push_str(groups.get(*number).copied().unwrap_or_default()),
                Part::Label(label) => {
                    let value = visit.metadata(label).filter(|value| !value.is_empty())?;
                    out.push_str(&value.to_lowercase());
                }
            }
        }
        Some(out)
    }
}

/// The error for an unknown kind; errors in the answer rules come first.
fn unknown_kind(kind: &str, rest: &[String]) -> String {
    let kind = kind.to_lowercase();
    if rest.first().is_some_and(|word| word == "metadata") {
        return "metadata is only supported for regex name rules".into();
    }
    if !rest.is_empty()
        && let Err(error) = answer::parse(&kind, rest)
    {
        return error;
    }
    format!(
        "name rule supports only exact, prefix, suffix, substring, and regex name matching, received: {kind}"
    )
}

/// Compiles a pattern, which must have at least as many groups as the replacement uses.
pub(super) fn compile(from: &str, to: &str) -> Result<Pattern, String> {
    let pattern = Pattern::compile(from).map_err(|error| match error {
        PatternError::TooLong(len) => PatternError::too_long("", len),
        PatternError::Syntax(_) => format!("invalid regex matching pattern: {from}"),
    })?;
    let used = (0..=100).filter(|number| to.contains(&format!("{{{number}}}"))).count();
    if used > pattern.groups() {
        return Err(format!(
            "the rewrite regex pattern ({to}) uses more subexpressions than its corresponding matching regex pattern ({from})"
        ));
    }
    Ok(pattern)
}

/// Parses a replacement with metadata.
fn parts(mut to: &str, groups: usize) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    while !to.is_empty() {
        let (before, rest) = to.split_once('{').map_or((to, None), |(before, rest)| (before, Some(rest)));
        if before.contains('}') {
            return Err("unmatched closing brace in metadata name replacement".into());
        }
        if !before.is_empty() {
            parts.push(Part::Text(before.to_lowercase()));
        }
        let Some(rest) = rest else { break };
        let (label, after) = rest
            .split_once('}')
            .ok_or_else(|| "unclosed placeholder in metadata name replacement".to_owned())?;
        parts.push(match label.parse::<i64>() {
            Ok(number) => match usize::try_from(number) {
                Ok(number) if number <= groups => Part::Group(number),
                _ => return Err(format!("capture group {label} does not exist in name matching pattern")),
            },
            Err(_) if is_label(label) && !label.contains('{') => Part::Label(label.to_owned()),
            Err(_) => {
                return Err(format!("invalid metadata label {} in name replacement", quoted(label)));
            }
        });
        to = after;
    }
    Ok(parts)
}

/// Whether it is `PLUGIN/LABEL`, neither empty.
pub(super) fn is_label(text: &str) -> bool {
    text.split_once('/').is_some_and(|(plugin, label)| !plugin.is_empty() && !label.is_empty())
}
