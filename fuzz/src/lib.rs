//! Mutated input against the real code, on stable Rust.
//!
//! ```text
//! corpus ─→ pool ──pick──→ mutate ──→ target.check ──→ a new shape? ─→ pool
//!                                          └─→ panic, broken promise, no end ─→ crashes/, how to replay
//! ```
//!
//! There is no coverage instrumentation: that needs nightly or a C toolchain. Instead each check says what
//! *shape* its outcome had (parsed how far, refused with which words, answered with which code and how many
//! records), and an input that reaches a shape nobody saw before becomes a seed itself.
//!
//! A run is a function of its seed and its corpus, as long as nothing in the checked code depends on time.

pub mod alarm;
pub mod campaign;
pub mod corpus;
pub mod finding;
pub mod mutate;
pub mod service;
pub mod shape;
pub mod target;
pub mod targets;
