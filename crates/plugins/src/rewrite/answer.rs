//! `answer auto | name FROM TO | value FROM TO ...`: rewrites names in replies.

use std::sync::Arc;

use golang::quoted;

use super::matcher::normal;
use super::name::compile;
use super::revert::{Mapper, Revert};

#[derive(Default)]
pub(super) struct Answers {
    pub auto: bool,
    pub rules: Vec<Revert>,
}

/// Parses the answer rules after a name rule; `kind` is the KIND of that rule, for errors.
pub(super) fn parse(kind: &str, args: &[String]) -> Result<Answers, String> {
    if args.len() < 2 {
        return Err(format!("invalid arguments for {kind} rule"));
    }
    let mut answers = Answers::default();
    let mut names = false;
    let mut rest = args;
    // The word `answer` is optional from the second rule on.
    let mut first = true;
    while let Some((word, after)) = rest.split_first() {
        if first && word != "answer" {
            return Err(format!(
                "exceeded the number of arguments for a non-answer rule argument for {kind} rule"
            ));
        }
        first = false;
        let (what, after) = if word == "answer" {
            after.split_first().ok_or_else(|| format!("type missing for answer rule for {kind} rule"))?
        } else {
            (word, after)
        };
        match what.as_str() {
            "auto" => {
                answers.auto = true;
                rest = after;
            }
            "name" | "value" => {
                let about = format!("{what} answer rule for {kind} rule");
                let [from, to, after @ ..] = after else {
                    return Err(format!("{about}: 2 arguments required"));
                };
                let pattern = compile(from, to).map_err(|error| format!("{about}: {error}"))?;
                let mapper = Arc::new(Mapper::Regex { pattern, to: normal(to) });
                if what == "name" {
                    names = true;
                    answers.rules.push(Revert::Owner(mapper));
                } else {
                    answers.rules.push(Revert::Value(mapper));
                }
                rest = after;
            }
            other => {
                return Err(format!("invalid type {} for answer rule for {kind} rule", quoted(other)));
            }
        }
    }
    if answers.auto && names {
        return Err("auto name answer rule cannot be combined with explicit name anwer rules".into());
    }
    Ok(answers)
}
