//! The `rhumb` binary: the command line. The crates below have the logic.
//!
//! ```text
//! arguments ─cli─┬─ CoreDNS's flags (go_flags) ─┬─→ run ─→ server
//!                └─ subcommands (args)──────────┘
//! ```

mod cli;
mod input;
mod run;
mod version;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(std::env::args_os().collect())
}
