//! Postfix expressions: members, indices, slices, method calls.

use super::Parser;
use crate::ast::{Id, Node};
use crate::error::Error;
use crate::lexer::{is_name_start, is_word_char};
use crate::operator::LOOSEST;
use crate::token::Kind;

impl Parser<'_> {
    pub(super) fn postfix(&mut self, mut id: Id) -> Result<Id, Error> {
        loop {
            let token = self.current();
            if token.is_operator(".") {
                id = self.member(id, false)?;
            } else if token.is_operator("?.") {
                id = self.member(id, true)?;
            } else if token.is_bracket("[") {
                id = self.index(id, false)?;
            } else {
                return Ok(id);
            }
        }
    }

    fn member(&mut self, base: Id, optional: bool) -> Result<Id, Error> {
        self.advance()?;
        let name = self.current().clone();
        if optional && name.is_bracket("[") {
            return self.index(base, true);
        }
        self.advance()?;
        let is_word = name.text.starts_with(is_name_start) && name.text.chars().all(is_word_char);
        if name.kind != Kind::Identifier && (name.kind != Kind::Operator || !is_word) {
            return Err(self.error("expected name"));
        }
        let property = self.node(Node::String(name.text), name.at)?;
        // The chain continues: its end moves after this member.
        let (base, chained) = match self.tree.nodes[base] {
            Node::Chain(inner) => (inner, true),
            _ => (base, false),
        };
        let method = self.current().is_bracket("(");
        let mut id = self.node(Node::Member { base, property, optional, method }, name.at)?;
        if method {
            let arguments = self.arguments(Vec::new())?;
            id = self.node(Node::Call { callee: id, arguments }, name.at)?;
        }
        if chained || optional { self.node(Node::Chain(id), name.at) } else { Ok(id) }
    }

    /// `[index]` or `[from:to]`.
    fn index(&mut self, base: Id, optional: bool) -> Result<Id, Error> {
        let at = self.current().at;
        self.advance()?;
        let from = if self.current().is_operator(":") { None } else { Some(self.expression(LOOSEST)?) };
        let id = if self.current().is_operator(":") {
            self.advance()?;
            let to = if self.current().is_bracket("]") { None } else { Some(self.expression(LOOSEST)?) };
            self.node(Node::Slice { base, from, to }, at)?
        } else if let Some(property) = from {
            let member = self.node(Node::Member { base, property, optional, method: false }, at)?;
            if optional { self.node(Node::Chain(member), at)? } else { member }
        } else {
            return Err(self.unexpected());
        };
        self.expect(Kind::Bracket, "]")?;
        Ok(id)
    }
}
