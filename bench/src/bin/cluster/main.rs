//! `make bench-cluster`: Rhumb beside CoreDNS on large clusters.
//!
//! ```text
//! size ─→ real API server, loaded once ─→ rounds of: start both, memory, relist, watch-to-answer ┐
//!      └→ scripted API server, 1,000 changes/s while clients ask ─────────────────────────────────┴→ targets, files
//! ```
//!
//! `bench/README.md` explains the measurements.

mod arguments;
mod audit;
mod client;
mod clients;
mod data;
mod json;
mod memory;
mod moving;
mod percentile;
mod probe;
mod relist;
mod report;
mod results;
mod round;
mod server;
mod start;
mod storm;
mod table;
mod targets;
mod watch;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use testkit::error::{Error, Result};
use testkit::scripted_upstream::ScriptedUpstream;

use arguments::{Arguments, Plan};
use bench::machine;
use data::Size;
use results::{Outcome, Results};

/// The state shared by all measurements.
pub struct Bench {
    pub plan: Plan,
    pub upstream: ScriptedUpstream,
    begun: Instant,
}

impl Bench {
    /// Prints a line of progress.
    pub fn progress(&self, text: &str) {
        eprintln!("[{:4.0} s] {text}", self.begun.elapsed().as_secs_f64());
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-cluster: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    machine::needs_two_processors()?;
    let plan = arguments.plan();
    let bench = Bench { plan, upstream: ScriptedUpstream::start()?, begun: Instant::now() };
    let mut results = Results::new(plan);
    let mut missing = Vec::new();
    for size in arguments.sizes() {
        match round::measure(&bench, size) {
            Ok(samples) => results.add(Outcome::new(size, samples), report::size),
            Err(error) => missing.push(lost(size.letter, &error)),
        }
    }
    if !arguments.no_storm {
        match storm::measure(&bench, Size::storm()) {
            Ok(samples) => results.storm(samples, report::storm),
            Err(error) => missing.push(lost("storm", &error)),
        }
    }
    println!("{}", report::targets(&results));
    if !missing.is_empty() {
        return Err(Error::new(format!("results not written, since not measured: {}", missing.join("; "))));
    }
    if let Some(folder) = arguments.keep() {
        let path = results.keep(&folder)?;
        println!("wrote {}, with JSON beside it", path.display());
    }
    bench.progress("done");
    Ok(())
}

fn lost(what: &str, error: &Error) -> String {
    eprintln!("bench-cluster: {what}: {error}");
    format!("{what}: {error}")
}
