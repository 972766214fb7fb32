//! From text to requirements.
//!
//! ```text
//! selector    = [ requirement *( "," requirement ) ]
//! requirement = KEY / "!" KEY / KEY ( "=" / "==" / "!=" ) [ VALUE ] / KEY ( "in" / "notin" ) "(" values ")"
//! values      = [ VALUE ] *( "," [ VALUE ] )
//! ```

use std::collections::BTreeSet;

use golang::quoted;

use super::label::{key_breaches, value_breaches};
use super::{Operator, Requirement, SelectorError};

/// The requirements in the order of the text.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut written = Parser { tokens: tokens(text), at: 0 }
        .selector()
        .map_err(|why| SelectorError(format!("couldn't parse the selector string \"{text}\": {why}")))?;
    // By keys, as Kubernetes does before it looks at the operators: that decides which error is told.
    written.sort_by(|a, b| a.key.cmp(b.key));

    let mut requirements: Vec<Requirement> = Vec::new();
    for (n, one) in written.iter().enumerate() {
        let operator = match one.operator {
            // Kubernetes keeps these in a map: the last one of a key counts.
            Word::Equals if written[n + 1..].iter().any(|later| later.replaces(one)) => continue,
            Word::Equals | Word::In => Operator::In,
            Word::NotEquals | Word::NotIn => Operator::NotIn,
            Word::Exists => Operator::Exists,
            Word::DoesNotExist => Operator::DoesNotExist,
            Word::Greater => return Err(unsupported("gt")),
            Word::Less => return Err(unsupported("lt")),
        };
        let values = one.values.iter().map(|&value| value.into()).collect();
        requirements.push(Requirement { key: one.key.into(), operator, values });
    }
    Ok(requirements)
}

fn unsupported(operator: &str) -> SelectorError {
    SelectorError(format!("\"{operator}\" isn't supported in label selectors"))
}

/// A requirement as it is written.
struct Written<'t> {
    key: &'t str,
    operator: Word,
    values: BTreeSet<&'t str>,
}

impl Written<'_> {
    fn replaces(&self, earlier: &Self) -> bool {
        self.operator == Word::Equals && self.key == earlier.key
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Word {
    Equals,
    NotEquals,
    In,
    NotIn,
    Greater,
    Less,
    Exists,
    DoesNotExist,
}

/// A sign, or a run of other characters; the empty one is the end.
type Token<'t> = &'t str;

const END: Token<'static> = "";
const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<Token<'_>> {
    // NUL ends a word for Kubernetes, and outside of one the text.
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let is_sign = |c: char| matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<');
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    while !rest.is_empty() && !rest.starts_with('\0') {
        let end = match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => sign.len(),
            None => rest.find(|c| is_blank(c) || is_sign(c) || c == '\0').unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after.strip_prefix('\0').unwrap_or(after).trim_start_matches(is_blank);
    }
    tokens.push(END);
    tokens
}

fn is_word(token: Token) -> bool {
    token != END && !SIGNS.contains(&token)
}

struct Parser<'t> {
    /// The last one is the end.
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn selector(&mut self) -> Result<Vec<Written<'t>>, String> {
        let mut all = Vec::new();
        loop {
            match self.peek() {
                END => return Ok(all),
                token if is_word(token) || token == "!" => {}
                token => return Err(format!("found '{token}', expected: !, identifier, or 'end of string'")),
            }
            all.push(self.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?);
            match (self.next(), self.peek()) {
                (END, _) => return Ok(all),
                (",", token) if is_word(token) || token == "!" => {}
                (",", token) => return Err(format!("found '{token}', expected: identifier after ','")),
                (token, _) => return Err(format!("found '{token}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Written<'t>, String> {
        let mut key = self.next();
        let negated = key == "!";
        if negated {
            key = self.next();
        }
        if !is_word(key) {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let breaches = key_breaches(key);
        if !breaches.is_empty() {
            return Err(format!("<nil>: Invalid value: {}: {}", quoted(key), breaches.join("; ")));
        }
        let values = BTreeSet::new();
        if negated {
            return Ok(Written { key, operator: Word::DoesNotExist, values });
        }
        if matches!(self.peek(), END | ",") {
            return Ok(Written { key, operator: Word::Exists, values });
        }
        let operator = match self.next() {
            "in" => Word::In,
            "notin" => Word::NotIn,
            "=" | "==" => Word::Equals,
            "!=" => Word::NotEquals,
            ">" => Word::Greater,
            "<" => Word::Less,
            token => return Err(format!("found '{token}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        let values = match operator {
            Word::In | Word::NotIn => self.values()?,
            _ => BTreeSet::from([self.value()?]),
        };
        let written = Written { key, operator, values };
        written.check_values().map(|()| written)
    }

    /// The one value behind `=`, which may be empty.
    fn value(&mut self) -> Result<&'t str, String> {
        if matches!(self.peek(), END | ",") {
            return Ok("");
        }
        match self.next() {
            token if is_word(token) => Ok(token),
            token => Err(format!("found '{token}', expected: identifier")),
        }
    }

    /// The values in parentheses; between two commas is an empty one.
    fn values(&mut self) -> Result<BTreeSet<&'t str>, String> {
        match self.next() {
            "(" => {}
            token => return Err(format!("found '{token}' expected: '('")),
        }
        match self.peek() {
            token if is_word(token) || matches!(token, "," | ")") => {}
            token => return Err(format!("found '{token}', expected: ',', ')' or identifier")),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                token if is_word(token) => {
                    values.insert(token);
                    if !matches!(self.peek(), "," | ")") {
                        return Err(format!("found '{}', expected: ',' or ')'", self.peek()));
                    }
                }
                "," => {
                    if values.is_empty() || matches!(self.peek(), "," | ")") {
                        values.insert("");
                    }
                }
                ")" => {
                    if values.is_empty() {
                        values.insert("");
                    }
                    return Ok(values);
                }
                token => return Err(format!("found '{token}', expected: ',', or identifier")),
            }
        }
    }

    fn peek(&self) -> Token<'t> {
        self.tokens.get(self.at).copied().unwrap_or(END)
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }
}

impl Written<'_> {
    fn check_values(&self) -> Result<(), String> {
        let mut errors = Vec::new();
        let order = matches!(self.operator, Word::Greater | Word::Less);
        for (n, value) in self.values.iter().enumerate() {
            if order && value.parse::<i64>().is_err() {
                let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(format!("values[{n}]: Invalid value: {}: {why}", quoted(value)));
            }
        }
        for (n, value) in self.values.iter().enumerate() {
            let breaches = value_breaches(value);
            if !breaches.is_empty() {
                let place = format!("values[{n}][{}]", self.key);
                errors.push(format!("{place}: Invalid value: {}: {}", quoted(value), breaches.join("; ")));
            }
        }
        match &errors[..] {
            [] => Ok(()),
            [error] => Err(error.clone()),
            errors => Err(format!("[{}]", errors.join(", "))),
        }
    }
}
