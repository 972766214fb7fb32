//! Fuzz targets: functions that panic when code breaks a promise about its input.
//!
//! libFuzzer calls them from the binaries in `fuzz_targets/`; `tests/integration/corpus.rs` replays the kept inputs
//! through them without it. README.md says how to run, repeat and add.

pub mod service;
pub mod targets;
