//! Parses the text of a selector into requirements.
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
    // Sorted by key, as Kubernetes does before it checks the operators: that decides which error is reported.
    written.sort_by(|a, b| a.key.cmp(b.key));

    let mut requirements: Vec<Requirement> = Vec::new();
    for (n, one) in written.iter().enumerate() {
        let operator = match one.operator {
            // Kubernetes stores these in a map: the last one of a key wins.
            WrittenOperator::Equals if written[n + 1..].iter().any(|later| later.replaces(one)) => continue,
            WrittenOperator::Equals | WrittenOperator::In => Operator::In,
            WrittenOperator::NotEquals | WrittenOperator::NotIn => Operator::NotIn,
            WrittenOperator::Exists => Operator::Exists,
            WrittenOperator::DoesNotExist => Operator::DoesNotExist,
            WrittenOperator::Greater => return Err(unsupported("gt")),
            WrittenOperator::Less => return Err(unsupported("lt")),
        };
        let values = one.values.iter().map(|&value| value.into()).collect();
        requirements.push(Requirement { key: one.key.into(), operator, values });
    }
    Ok(requirements)
}

fn unsupported(operator: &str) -> SelectorError {
    SelectorError(format!("\"{operator}\" isn't supported in label selectors"))
}

/// A requirement as written in the text.
struct WrittenRequirement<'t> {
    key: &'t str,
    operator: WrittenOperator,
    values: BTreeSet<&'t str>,
}

impl WrittenRequirement<'_> {
    fn replaces(&self, earlier: &Self) -> bool {
        self.operator == WrittenOperator::Equals && self.key == earlier.key
    }
}

#[derive(Clone, Copy, PartialEq)]
enum WrittenOperator {
    Equals,
    NotEquals,
    In,
    NotIn,
    Greater,
    Less,
    Exists,
    DoesNotExist,
}

/// A sign, or a word of other characters; the empty token is the end.
type Token<'t> = &'t str;

const END: Token<'static> = "";
const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<Token<'_>> {
    // For Kubernetes, NUL ends a word; outside of a word it ends the text.
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
    /// The last one is `END`.
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn selector(&mut self) -> Result<Vec<WrittenRequirement<'t>>, String> {
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

    fn requirement(&mut self) -> Result<WrittenRequirement<'t>, String> {
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
            return Ok(WrittenRequirement { key, operator: WrittenOperator::DoesNotExist, values });
        }
        if matches!(self.peek(), END | ",") {
            return Ok(WrittenRequirement { key, operator: WrittenOperator::Exists, values });
        }
        let operator = match self.next() {
            "in" => WrittenOperator::In,
            "notin" => WrittenOperator::NotIn,
            "=" | "==" => WrittenOperator::Equals,
            "!=" => WrittenOperator::NotEquals,
            ">" => WrittenOperator::Greater,
            "<" => WrittenOperator::Less,
            token => return Err(format!("found '{token}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        let values = match operator {
            WrittenOperator::In | WrittenOperator::NotIn => self.values()?,
            _ => BTreeSet::from([self.value()?]),
        };
        let written = WrittenRequirement { key, operator, values };
        written.check_values().map(|()| written)
    }

    /// The one value after `=`, which may be empty.
    fn value(&mut self) -> Result<&'t str, String> {
        if matches!(self.peek(), END | ",") {
            return Ok("");
        }
        match self.next() {
            token if is_word(token) => Ok(token),
            token => Err(format!("found '{token}', expected: identifier")),
        }
    }

    /// The values in parentheses; between two commas is an empty value.
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

impl WrittenRequirement<'_> {
    fn check_values(&self) -> Result<(), String> {
        let mut errors = Vec::new();
        let order = matches!(self.operator, WrittenOperator::Greater | WrittenOperator::Less);
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
