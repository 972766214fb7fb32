//! `make bench`: CPU time per query, Rhumb beside CoreDNS, Unbound and a loop that answers nothing.
//!
//! ```text
//! workload (configuration, questions)                upstream on CPU 1
//!    └─→ contenders on CPU 0, dnsperf on CPU 1 ──rounds──→ samples ──→ medians ──→ terminal, JSON, Markdown
//! ```
//!
//! `README.md` beside this says how to read the numbers.

mod agree;
mod contender;
mod json;
mod measure;
mod question;
mod results;
mod rounds;
mod table;
mod upstream;
mod workload;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use testkit::error::{Error, Result};

use bench::machine::{self, CLIENT_CPU};
use results::Results;
use rounds::Plan;
use upstream::Upstream;
use workload::{Prepared, SUITES, Suite};

/// Measures CPU time per query of the servers named by RHUMB_BIN, RHUMB_PEER_COREDNS, RHUMB_UNBOUND and RHUMB_ECHO.
#[derive(Parser)]
struct Arguments {
    /// Only these workloads
    #[arg(value_name = "WORKLOAD", value_parser = PossibleValuesParser::new(SUITES.map(|suite| suite.name)))]
    only: Vec<String>,

    /// How often each server is measured under each load
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// How long one measurement takes; cached answers live for 30 seconds
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=20))]
    seconds: u64,

    /// Where results go
    #[arg(long, value_name = "DIR", default_value_os_t = Path::new(env!("CARGO_MANIFEST_DIR")).join("results"))]
    results: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    machine::needs_two_processors()?;
    let begun = Instant::now();
    let upstream = Upstream::start(Some(CLIENT_CPU))?;
    let mut missing = Vec::new();
    for suite in SUITES {
        if arguments.only.is_empty() || arguments.only.iter().any(|name| name == suite.name) {
            missing.extend(measure(&suite, &upstream, arguments, begun)?);
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(Error::new(format!("not measured: {}", missing.join("; ")))) }
}

/// Measures and keeps one suite. What could be measured is shown in any case, but results without one of the servers
/// are no results; they are given back with the reason.
fn measure(suite: &Suite, upstream: &Upstream, arguments: &Arguments, begun: Instant) -> Result<Vec<String>> {
    let Prepared { workloads, cluster: _watched } = match (suite.prepare)() {
        Ok(prepared) => prepared,
        Err(error) => {
            println!("{} is not measured: {error}", suite.name);
            return Ok(vec![format!("{}: {error}", suite.name)]);
        }
    };
    let plan = Plan { rounds: arguments.rounds, seconds: arguments.seconds };
    let mut missing = Vec::new();
    let mut results = Results::new(&workloads, plan);
    for workload in &workloads {
        let measured = rounds::measure(workload, upstream, plan, |text| {
            eprintln!("[{:4.0} s] {}: {text}", begun.elapsed().as_secs_f64(), workload.name);
        })?;
        println!("{}", table::text(&measured.outcome));
        results.outcomes.push(measured.outcome);
        missing.extend(measured.missing);
    }
    if missing.is_empty() {
        let path = results.keep(&arguments.results, suite.name)?;
        let seconds = begun.elapsed().as_secs_f64();
        println!("kept in {} and beside it as JSON, after {seconds:.0} s", path.display());
    } else {
        println!("{} is not kept: {}", suite.name, missing.join("; "));
    }
    Ok(missing)
}
