//! Go's `text/template`: parsed once, executed many times over data that is read as it is asked for.
//!
//! ```text
//!   text ──lex──→ words ──parse──→ tree ──exec──→ bytes
//!                                   ↑  data, one field at a time
//! ```
//!
//! Complaints, of the parser and of an execution, are Go's, places and all.

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
use exec::{Run, Stop};
use parse::Set;
use tree::{List, Node};

use crate::value::{Data, Value};

/// The functions a template knows besides Go's own.
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
    /// The error is Go's, as it prints it.
    pub fn parse(name: &str, text: &str, functions: Functions) -> Result<Template, String> {
        let set = parse::parse(name, text, &functions)?;
        Ok(Template { name: name.to_owned(), text: text.to_owned(), set })
    }

    /// Adds what the template says about the data to `out`. After an error `out` holds what came before it.
    pub fn execute(&self, data: &dyn Data, out: &mut Vec<u8>) -> Result<(), String> {
        let Some(root) = self.root() else { return Ok(()) };
        let mut run = Run::new(&self.set, (&self.name, &self.text), data);
        match run.list(&Value::Struct(data), root, out) {
            Err(Stop::Error(error)) => Err(error),
            // The parser lets neither stand outside of a range.
            Ok(()) | Err(Stop::Break | Stop::Continue) => Ok(()),
        }
    }

    /// What it says whatever the data are, if it looks at none.
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
