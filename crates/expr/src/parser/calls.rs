//! Calls of builtin functions and of functions of the environment.

use super::Parser;
use crate::ast::{BuiltinCall, Id, Node};
use crate::builtins::{self, Argument};
use crate::error::Error;
use crate::operator::LOOSEST;
use crate::token::{Kind, Token};

impl Parser<'_> {
    /// A call by name; a pipe has already parsed the first argument. `::name()` ignores the environment.
    pub(super) fn call(
        &mut self,
        name: &Token,
        arguments: Vec<Id>,
        sees_environment: bool,
    ) -> Result<Id, Error> {
        let overridden =
            sees_environment && self.environment.is_some_and(|environment| environment.contains(&name.text));
        let builtin = builtins::find(&name.text).filter(|_| !overridden);
        if let Some(builtin) = builtin
            && let Some(expected) = builtins::predicate_arguments(builtin)
        {
            let arguments = self.predicate_call(expected, arguments)?;
            return self.node(Node::Builtin(BuiltinCall::new(builtin, arguments)), name.at);
        }
        // CoreDNS replaces `type`.
        if let Some(builtin) = builtin.filter(|&name| name != "type" || self.environment.is_none()) {
            let arguments = self.arguments(arguments)?;
            return self.node(Node::Builtin(BuiltinCall::new(builtin, arguments)), name.at);
        }
        let callee = self.node(Node::Identifier(name.text.clone()), name.at)?;
        let arguments = self.arguments(arguments)?;
        self.node(Node::Call { callee, arguments }, name.at)
    }

    fn predicate_call(&mut self, expected: &[Argument], mut arguments: Vec<Id>) -> Result<Vec<Id>, Error> {
        self.expect(Kind::Bracket, "(")?;
        let expected = &expected[arguments.len()..];
        for (i, argument) in expected.iter().enumerate() {
            if self.current().is_bracket(")") {
                if argument.is_optional() {
                    break;
                }
                return Err(self.error(format!("expected at least {} arguments", expected.len())));
            }
            if i > 0 {
                self.expect(Kind::Operator, ",")?;
            }
            let id = if argument.is_predicate() { self.predicate()? } else { self.expression(LOOSEST)? };
            arguments.push(id);
        }
        if self.current().is_operator(",") {
            self.advance()?;
        }
        self.expect(Kind::Bracket, ")")?;
        Ok(arguments)
    }

    /// A predicate, with or without braces.
    fn predicate(&mut self) -> Result<Id, Error> {
        let at = self.current().at;
        let braced = self.current().is_bracket("{");
        if braced {
            self.advance()?;
        }
        self.predicates += 1;
        let body = if braced {
            self.sequence()?
        } else {
            let body = self.expression(LOOSEST)?;
            if self.current().is_operator(";") {
                return Err(self.error("wrap predicate with brackets { and }"));
            }
            body
        };
        self.predicates -= 1;
        if braced {
            self.expect(Kind::Bracket, "}")?;
        }
        self.node(Node::Predicate(body), at)
    }

    /// Arguments in parentheses, appended to those already parsed.
    pub(super) fn arguments(&mut self, mut arguments: Vec<Id>) -> Result<Vec<Id>, Error> {
        let parsed = arguments.len();
        self.expect(Kind::Bracket, "(")?;
        while !self.current().is_bracket(")") {
            if arguments.len() > parsed {
                self.expect(Kind::Operator, ",")?;
            }
            if self.current().is_bracket(")") {
                break;
            }
            arguments.push(self.expression(LOOSEST)?);
        }
        self.expect(Kind::Bracket, ")")?;
        Ok(arguments)
    }
}
