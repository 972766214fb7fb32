//! Calls of the language's own functions and of the environment's.

use super::Parser;
use crate::ast::{BuiltinCall, Id, Node};
use crate::builtins::{self, Argument};
use crate::error::Error;
use crate::operator::LOOSEST;
use crate::token::{Kind, Token};

impl Parser<'_> {
    /// A call by name; with a pipe the first argument is there already. `::name()` does not see the environment.
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
            && let Some(wanted) = builtins::predicate_arguments(builtin)
        {
            let arguments = self.predicate_call(wanted, arguments)?;
            return self.node(Node::Builtin(BuiltinCall::new(builtin, arguments)), name.at);
        }
        // `type` is CoreDNS's own.
        if let Some(builtin) = builtin.filter(|&name| name != "type" || self.environment.is_none()) {
            let arguments = self.arguments(arguments)?;
            return self.node(Node::Builtin(BuiltinCall::new(builtin, arguments)), name.at);
        }
        let callee = self.node(Node::Identifier(name.text.clone()), name.at)?;
        let arguments = self.arguments(arguments)?;
        self.node(Node::Call { callee, arguments }, name.at)
    }

    fn predicate_call(&mut self, wanted: &[Argument], mut arguments: Vec<Id>) -> Result<Vec<Id>, Error> {
        self.expect(Kind::Bracket, "(")?;
        let wanted = &wanted[arguments.len()..];
        for (i, argument) in wanted.iter().enumerate() {
            if self.current().is_bracket(")") {
                if argument.is_optional() {
                    break;
                }
                return Err(self.error(format!("expected at least {} arguments", wanted.len())));
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

    /// What is asked of each element, with or without braces around it.
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

    /// Arguments in parentheses, behind those that are there already.
    pub(super) fn arguments(&mut self, mut arguments: Vec<Id>) -> Result<Vec<Id>, Error> {
        let given = arguments.len();
        self.expect(Kind::Bracket, "(")?;
        while !self.current().is_bracket(")") {
            if arguments.len() > given {
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
