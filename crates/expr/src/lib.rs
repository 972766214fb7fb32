//! The expression language of `view` and `template`: expr-lang 1.17, as CoreDNS 1.15 uses it.
//!
//! `lexer` and `parser` read the source, `checker` assigns types, `rewrite` simplifies the tree, and `generate` makes a
//! [`Program`] of it, with constants and their regular expressions prepared. An [`Environment`] declares the names that
//! an expression may use; [`Variables`] provides their values on demand.

mod arithmetic;
mod ast;
mod builtins;
mod checker;
mod code;
mod compare;
mod display;
mod environment;
mod error;
mod escapes;
mod functions;
mod generate;
mod json;
mod lexer;
mod machine;
mod operator;
mod parser;
mod program;
mod rewrite;
mod times;
mod token;
mod types;
mod value;

pub use environment::{Environment, Function, Prepare, Prepared};
pub use error::Error;
pub use program::{Program, Variables};
pub use times::{Time, Zone};
pub use types::{Elements, MapType, Type};
pub use value::{Array, Key, Map, Value};

/// Whether the name is that of a builtin function.
pub fn is_builtin(name: &str) -> bool {
    builtins::find(name).is_some()
}

/// Whether the text is a valid identifier.
pub fn is_identifier(name: &str) -> bool {
    let Ok((tree, root)) = parser::parse(name, None) else { return false };
    matches!(&tree.nodes[root], ast::Node::Identifier(found) if found == name)
}
