//! `fuzz --target packet|corefile --seconds N`: mutates seeds until the time is up or something breaks.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use fuzz::campaign::Campaign;
use fuzz::finding::Finding;
use fuzz::{corpus, targets};
use testkit::random;

/// Throws mutated input at the real code. Ends with 1 when something broke; the input is kept under fuzz/crashes.
#[derive(Parser)]
struct Arguments {
    /// What to fuzz
    #[arg(long, value_parser = targets::NAMES)]
    target: String,

    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u64,

    /// Stop after so many executions too; with a seed, that is a run that can be repeated exactly
    #[arg(long)]
    executions: Option<u64>,

    /// Repeats a run; RHUMB_SEED, or else the time, when left out
    #[arg(long)]
    seed: Option<u64>,

    /// Seeds to start from
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,

    /// Check this one input and nothing else
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(finding)) => {
            finding.report();
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::from(2)
        }
    }
}

/// A finding is a result; an error is that nothing could be tried.
fn run(arguments: &Arguments) -> Result<Option<Finding>, Box<dyn std::error::Error>> {
    // Before the target, which may change the current folder.
    let replay = arguments.replay.as_ref().map(std::fs::read).transpose()?;
    let folder = arguments.corpus.clone().unwrap_or_else(|| corpus::folder(&arguments.target));
    let seeds = if replay.is_some() { Vec::new() } else { corpus::load(&folder)? };
    let mut target = targets::by_name(&arguments.target)?;
    if let Some(input) = replay {
        let checked = Campaign::new(target.as_mut(), 0).check(&input);
        if checked.is_ok() {
            println!("no complaint about these {} octets", input.len());
        }
        return Ok(checked.err());
    }
    let seed = arguments.seed.unwrap_or_else(random::seed_from_env);
    println!("target {}, seed {seed}, {} seeds from {}", arguments.target, seeds.len(), folder.display());
    let mut campaign = Campaign::new(target.as_mut(), seed);
    for seed in &seeds {
        if let Err(mut finding) = campaign.seed(&seed.bytes) {
            finding.what = format!("{} (the seed {})", finding.what, seed.path.display());
            return Ok(Some(finding));
        }
    }
    match campaign.run(Duration::from_secs(arguments.seconds), arguments.executions) {
        Ok(summary) => {
            println!("target {}, seed {seed}: {summary}; nothing broke", arguments.target);
            Ok(None)
        }
        Err(mut finding) => {
            finding.what = format!("{} (seed {seed})", finding.what);
            Ok(Some(finding))
        }
    }
}
