//! Fuzz targets: functions that panic when code violates a property.
//!
//! libFuzzer calls them from the binaries in `fuzz_targets/`; `tests/integration/corpus.rs` replays the kept inputs
//! without it. README.md describes how to run, repeat and add targets.

pub mod service;
pub mod targets;
