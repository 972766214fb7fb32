//! The Corefile: parsing and lossless editing.
//!
//! Parsing has four steps, each in its own file:
//!
//! ```text
//! bytes ──lexer──→ tokens ──parse──→ server blocks ──key──→ zones to serve
//!                    ↑ env, import        └──dispenser──→ a plugin's setup
//! ```
//!
//! - [`lexer`] splits text into tokens and trivia, which together are every byte of it.
//! - [`parse`](mod@parse) groups tokens into [`ServerBlock`]s, expanding snippets, imports and environment
//!   variables. It reads files and variables through a [`Source`], so tests and fuzzers need no disk.
//! - [`key`] expands the keys of a block to zones, [`reverse`] does so for CIDR keys, [`overlap`] finds duplicate zones.
//! - [`Dispenser`] is the cursor with which a plugin's setup reads its tokens.
//!
//! Every error is a [`Diagnostic`]: it displays CoreDNS's own line and renders an annotated snippet of the file.
//!
//! Editing is separate: a [`Document`] is one file as written; an edit changes only the text it is asked to.
//!
//! The behaviour is exactly CoreDNS's, quirks included, because existing files rely on it. Comments mark quirks that
//! look like mistakes. The crate knows no plugin.
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
pub mod token;
mod token_buffer;

pub use block::{Directive, ServerBlock};
pub use canonical::canonical_json;
pub use diagnostic::{Diagnostic, Severity};
pub use dispenser::Dispenser;
pub use document::{Document, Item, ItemKind, Plugin};
pub use edit::{Comments, Place};
pub use key::{Scheme, ZoneKey, block_zones, normalize_exact, zones_from_args_or_block};
pub use overlap::{ZoneListener, check_overlap};
pub use parse::{Parsed, parse, read};
pub use source::{Disk, Memory, Source};
pub use span::{SourceFile, Span};
pub use stanza::{NewBlock, Stanza, quote};
pub use token::Token;
