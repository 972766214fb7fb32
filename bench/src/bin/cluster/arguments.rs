//! The command line.

use std::path::{Path, PathBuf};

use clap::Parser;
use clap::builder::PossibleValuesParser;

use crate::data::{SIZES, Size};

/// Measures the servers named by RHUMB_BIN and RHUMB_PEER_COREDNS on large clusters.
#[derive(Parser)]
pub struct Arguments {
    /// Only these sizes
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(SIZES.map(|size| size.letter)))]
    sizes: Vec<String>,

    /// How often each server is started and measured at each size
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// One round of a and d with few changes, as a smoke test; writes no results unless --results is given
    #[arg(long)]
    quick: bool,

    /// Leaves out 1,000 changes per second
    #[arg(long)]
    pub no_storm: bool,

    /// Where results go
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub rounds: u32,
    /// Per round, for both servers.
    pub changes: u32,
    pub storm_seconds: u64,
}

impl Arguments {
    pub fn plan(&self) -> Plan {
        match self.quick {
            true => Plan { rounds: self.rounds.unwrap_or(1), changes: 60, storm_seconds: 4 },
            false => Plan { rounds: self.rounds.unwrap_or(3), changes: 300, storm_seconds: 10 },
        }
    }

    pub fn sizes(&self) -> impl Iterator<Item = &'static Size> {
        SIZES.iter().filter(|size| match self.sizes.is_empty() {
            true => !self.quick || matches!(size.letter, "a" | "d"),
            false => self.sizes.iter().any(|letter| letter == size.letter),
        })
    }

    /// The folder of the results, if they are written.
    pub fn keep(&self) -> Option<PathBuf> {
        let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
        self.results.clone().or_else(|| (!self.quick).then(usual))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_run_is_small_unless_overridden() {
        let sizes = |words: &[&str]| {
            let arguments = Arguments::parse_from([&["bench-cluster"], words].concat());
            arguments.sizes().map(|size| size.letter).collect::<String>()
        };
        for (words, expected) in [
            (&[][..], "abcd"),
            (&["--quick"], "ad"),
            (&["--sizes", "b,c"], "bc"),
            (&["--quick", "--sizes", "c"], "c"),
        ] {
            assert_eq!(sizes(words), expected, "{words:?}");
        }
    }
}
