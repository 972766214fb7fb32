//! Parsed server blocks: keys and directives.

use std::sync::Arc;

use crate::dispenser::Dispenser;
use crate::token::Token;

/// One server block: the keys before the brace, and the directives inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerBlock {
    /// Name of the Corefile, for messages without a token.
    pub file: Arc<str>,
    /// As written, with variables expanded and trailing commas removed. [`block_zones`](crate::block_zones) reads them.
    pub keys: Vec<Token>,
    /// In the order of first appearance.
    pub directives: Vec<Directive>,
}

/// All lines of one block with the same directive, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    pub name: String,
    /// Includes the directive's name, once per occurrence.
    pub tokens: Vec<Token>,
}

impl ServerBlock {
    pub(crate) fn new(file: Arc<str>) -> Self {
        Self { file, keys: Vec::new(), directives: Vec::new() }
    }

    pub fn directive(&self, name: &str) -> Option<&Directive> {
        self.directives.iter().find(|directive| directive.name == name)
    }

    /// A cursor over the tokens of one directive, for its plugin's setup.
    pub fn dispenser(&self, name: &str) -> Option<Dispenser<'_>> {
        Some(Dispenser::new(&self.file, &self.directive(name)?.tokens))
    }

    pub(crate) fn tokens_of(&mut self, name: &str) -> &mut Vec<Token> {
        let known = self.directives.iter().position(|directive| directive.name == name);
        let at = known.unwrap_or_else(|| {
            self.directives.push(Directive { name: name.to_string(), tokens: Vec::new() });
            self.directives.len() - 1
        });
        &mut self.directives[at].tokens
    }
}
