//! Go's `text/template`: parsed once, executed many times on data that is read field by field.
//!
//! ```text
//!   text ──lex──→ tokens ──parse──→ tree ──exec──→ bytes
//!                                    ↑  data, one field at a time
//! ```
//!
//! Errors of parsing and execution are Go's, with their positions.

mod call;
mod escape;
mod eval;
mod exec;
mod lex;
mod number;
mod parse;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;

pub use call::Function;
use exec::{Execution, Stop};
use parse::Set;
use tree::{List, Node};

use crate::value::{Data, Value};

/// Functions of a template in addition to Go's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Functions(pub &'static [(&'static str, Function)]);

impl Functions {
    fn find(&self, name: &str) -> Option<Function> {
        let all = self.0.iter().chain(call::BUILT_IN);
        all.filter(|(known, _)| *known == name).map(|(_, function)| *function).next()
    }
}

/// A parsed template.
#[derive(Debug)]
pub struct Template {
    name: String,
    text: String,
    set: Set,
}

impl Template {
    /// The error is Go's.
    pub fn parse(name: &str, text: &str, functions: Functions) -> Result<Template, String> {
        let set = parse::parse(name, text, &functions)?;
        Ok(Template { name: name.to_owned(), text: text.to_owned(), set })
    }

    /// Executes the template and appends its output to `out`; after an error, the output before it.
    pub fn execute(&self, data: &dyn Data, out: &mut Vec<u8>) -> Result<(), String> {
        let Some(root) = self.root() else { return Ok(()) };
        let mut execution = Execution::new(&self.set, (&self.name, &self.text), data);
        match execution.list(&Value::Struct(data), root, out) {
            Err(Stop::Error(error)) => Err(error),
            // The parser rejects both outside of a range.
            Ok(()) | Err(Stop::Break | Stop::Continue) => Ok(()),
        }
    }

    /// The output of a template without actions.
    pub fn constant(&self) -> Option<&str> {
        match &self.root()?.0[..] {
            [] => Some(""),
            [Node::Text(text)] => Some(text),
            _ => None,
        }
    }

    fn root(&self) -> Option<&List> {
        self.set.get(&self.name)
    }
}

/// As Go prints the parsed template.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root().map_or(Ok(()), |root| root.fmt(f))
    }
}
