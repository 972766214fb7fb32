//! Names, numbers, strings, arrays and maps.

use super::Parser;
use crate::ast::{Id, Node};
use crate::error::Error;
use crate::operator::LOOSEST;
use crate::token::{Kind, Token};

impl Parser<'_> {
    pub(super) fn secondary(&mut self, token: Token) -> Result<Id, Error> {
        let id = match token.kind {
            Kind::Identifier => {
                self.advance()?;
                match token.text.as_str() {
                    "true" => return self.node(Node::Bool(true), token.at),
                    "false" => return self.node(Node::Bool(false), token.at),
                    "nil" => return self.node(Node::Nil, token.at),
                    _ if self.current().is_bracket("(") => self.call(&token, Vec::new(), true)?,
                    _ => self.node(Node::Identifier(token.text), token.at)?,
                }
            }
            Kind::Number => {
                self.advance()?;
                let number = number(&token.text).map_err(|message| self.error(message))?;
                return self.node(number, token.at);
            }
            Kind::String => {
                self.advance()?;
                self.node(Node::String(token.text), token.at)?
            }
            Kind::Bytes => {
                self.advance()?;
                self.node(Node::Bytes(token.bytes), token.at)?
            }
            Kind::Bracket if token.text == "[" => self.array(token.at)?,
            Kind::Bracket if token.text == "{" => self.map(token.at)?,
            _ => return Err(self.unexpected()),
        };
        self.postfix(id)
    }

    fn array(&mut self, at: usize) -> Result<Id, Error> {
        self.advance()?;
        let mut items = Vec::new();
        while !self.current().is_bracket("]") {
            if !items.is_empty() {
                self.expect(Kind::Operator, ",")?;
                if self.current().is_bracket("]") {
                    break;
                }
            }
            items.push(self.expression(LOOSEST)?);
        }
        self.expect(Kind::Bracket, "]")?;
        self.node(Node::Array(items), at)
    }

    fn map(&mut self, at: usize) -> Result<Id, Error> {
        self.advance()?;
        let mut pairs = Vec::new();
        while !self.current().is_bracket("}") {
            if !pairs.is_empty() {
                self.expect(Kind::Operator, ",")?;
                if self.current().is_bracket("}") {
                    break;
                }
                if self.current().is_operator(",") {
                    return Err(self.unexpected());
                }
            }
            let key = self.key()?;
            self.expect(Kind::Operator, ":")?;
            let value = self.expression(LOOSEST)?;
            // expr-lang counts a pair as a node.
            self.count_node()?;
            pairs.push((key, value));
        }
        self.expect(Kind::Bracket, "}")?;
        self.node(Node::Map(pairs), at)
    }

    fn key(&mut self) -> Result<Id, Error> {
        let token = self.current().clone();
        match token.kind {
            Kind::Number | Kind::String | Kind::Identifier => {
                let key = self.node(Node::String(token.text), token.at)?;
                self.advance()?;
                Ok(key)
            }
            Kind::Bracket if token.text == "(" => self.expression(LOOSEST),
            _ => Err(self.error(format!(
                "a map key must be a quoted string, a number, a identifier, or an expression enclosed in \
                 parentheses (unexpected token {token})"
            ))),
        }
    }
}

/// The value of a number literal; the error text is Go's.
fn number(text: &str) -> Result<Node, String> {
    let digits = text.replace('_', "");
    let lower = digits.to_ascii_lowercase();
    let integer = |what: &str, base: u32, prefix: usize| {
        let unsigned = lower.get(prefix..).unwrap_or_default();
        i64::from_str_radix(unsigned, base).map(Node::Integer).map_err(|error| {
            let why = match error.kind() {
                std::num::IntErrorKind::PosOverflow => "value out of range",
                _ => "invalid syntax",
            };
            format!("invalid {what} literal: strconv.ParseInt: parsing {}: {why}", golang::quoted(&digits))
        })
    };
    if lower.starts_with("0x") {
        integer("hex", 16, 2)
    } else if lower.contains(['.', 'e']) {
        golang::parse_float(&digits)
            .map(Node::Float)
            .map_err(|error| format!("invalid float literal: {error}"))
    } else if lower.starts_with("0b") {
        integer("binary", 2, 2)
    } else if lower.starts_with("0o") {
        integer("octal", 8, 2)
    } else {
        integer("integer", 10, 0)
    }
}
