//! The Corefile, from bytes to meaning and back again.
//!
//! Reading goes one way, in four steps, each a file of its own:
//!
//! ```text
//! bytes ──lexer──→ tokens ──parse──→ server blocks ──key──→ zones to serve
//!                    ↑ env, import        └──dispenser──→ a plugin's setup
//! ```
//!
//! - [`lexer`] cuts text into tokens and trivia without losing a byte.
//! - [`parse`](mod@parse) groups tokens into [`ServerBlock`]s, expanding snippets, imports and environment
//!   variables on the way. Files and variables come through a [`Source`], so tests and fuzzers need no disk.
//! - [`key`] turns the keys of a block into zones, [`reverse`] the CIDR ones, [`overlap`] finds those served twice.
//! - [`Dispenser`] is the cursor a plugin's setup walks over its tokens with.
//!
//! Whatever goes wrong is a [`Diagnostic`]: it prints CoreDNS's own line, and can draw the place in the file.
//!
//! Editing is separate: a [`Document`] holds one file as it was written and changes only what it is told to.
//!
//! The behaviour is CoreDNS's to the letter, oddities included, because the files are other people's. Where an
//! oddity looks like a mistake here, a comment says so. The crate knows no plugin and what none of them means.
#![forbid(unsafe_code)]

pub mod block;
pub mod canonical;
pub mod diagnostic;
pub mod dispenser;
pub mod document;
mod domain;
mod edit;
mod env;
mod glob;
mod import;
mod json;
pub mod key;
mod layout;
pub mod lexer;
pub mod overlap;
pub mod parse;
mod path;
mod render;
pub mod reverse;
pub mod source;
pub mod span;
pub mod stanza;
pub mod suggest;
mod tape;
pub mod token;

pub use block::{Directive, ServerBlock};
pub use canonical::canonical_json;
pub use diagnostic::{Diagnostic, Severity};
pub use dispenser::Dispenser;
pub use document::{Document, Item, ItemKind, Plugin};
pub use edit::{Comments, Place};
pub use key::{Scheme, ZoneKey, block_zones, normalize_exact, zones_from_args_or_block};
pub use overlap::{Listening, check_overlap};
pub use parse::{Parsed, parse, read};
pub use source::{Disk, Memory, Source};
pub use span::{SourceFile, Span};
pub use stanza::{NewBlock, Stanza, quote};
pub use token::Token;
