//! The expression language in which `view` and `template` state their conditions: expr-lang 1.17, as CoreDNS 1.15
//! uses it.
//!
//! A text is read (`lexer`, `parser`), given types (`checker`), simplified (`rewrite`) and turned into [`Program`]s
//! whose constants, regular expressions among them, are ready to use. What an expression may ask for is declared
//! in an [`Environment`]; its values come from [`Variables`], one by one and only when they are needed.

mod arithmetic;
mod ast;
mod builtins;
mod checker;
mod code;
mod compare;
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
mod show;
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

/// Whether the language has a function of this name.
pub fn is_builtin(name: &str) -> bool {
    builtins::find(name).is_some()
}

/// Whether a text is nothing but a name, and one that an expression may use.
pub fn is_identifier(name: &str) -> bool {
    let Ok((tree, root)) = parser::parse(name, None) else { return false };
    matches!(&tree.nodes[root], ast::Node::Identifier(found) if found == name)
}
