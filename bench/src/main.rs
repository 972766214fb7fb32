//! `make bench`: CPU time per query, Rhumb beside CoreDNS, Unbound, Knot, NSD and a loop that answers nothing.
//!
//! ```text
//! workload (configuration, zones, questions)         upstream, API server and prober on CPU 1
//!    └─→ contenders on CPU 0, dnsperf on CPU 1 ──rounds──→ samples ──→ medians ──→ terminal, Markdown, JSON, SVG
//! ```
//!
//! `README.md` beside this explains the numbers.

mod agree;
mod clusters;
mod contender;
mod goal;
mod json;
mod load;
mod measure;
mod plot;
mod population;
mod prober;
mod question;
mod results;
mod rounds;
mod table;
mod upstream;
mod usage;
mod workload;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use clap::builder::PossibleValuesParser;
use net::cpu;
use testkit::error::{Error, Result};

use bench::machine::{self, CLIENT_CPU};
use clusters::SharedClusters;
use measure::Meter;
use results::Results;
use rounds::Plan;
use upstream::Upstream;
use workload::{Prepared, SUITES, Suite};

/// Measures CPU time per query of Rhumb (RHUMB_BIN) beside other servers; bench/README.md says which and where they are.
#[derive(Parser)]
struct Arguments {
    /// Only these workloads
    #[arg(value_name = "WORKLOAD", value_parser = PossibleValuesParser::new(SUITES.map(|suite| suite.name)))]
    only: Vec<String>,

    /// How often each server is measured under each load
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
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
    // All our threads leave the server's CPU.
    cpu::pin_to(CLIENT_CPU)?;
    let begun = Instant::now();
    let upstream = Upstream::start(Some(CLIENT_CPU))?;
    let clusters = SharedClusters::default();
    let mut missing = Vec::new();
    for suite in SUITES {
        if arguments.only.is_empty() || arguments.only.iter().any(|name| name == suite.name) {
            // A failure does not stop the other suites.
            let failed = |error| {
                println!("{}: not measured: {error}", suite.name);
                vec![format!("{}: {error}", suite.name)]
            };
            missing.extend(measure(&suite, &clusters, &upstream, arguments, begun).unwrap_or_else(failed));
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(Error::new(format!("not measured: {}", missing.join("; ")))) }
}

/// Measures one suite and writes its results. Prints whatever was measured, but writes nothing if a server is missing;
/// returns the missing ones with the reason.
fn measure(
    suite: &Suite,
    clusters: &SharedClusters,
    upstream: &Upstream,
    arguments: &Arguments,
    begun: Instant,
) -> Result<Vec<String>> {
    let Prepared { workloads, watched } = (suite.prepare)(clusters)?;
    let plan = Plan { rounds: arguments.rounds, seconds: arguments.seconds };
    let mut missing = Vec::new();
    let mut results = Results::new(&workloads, plan);
    for workload in &workloads {
        let duration = Duration::from_secs(plan.seconds);
        let meter = Meter { workload, watched: watched.as_deref(), upstream, duration };
        let measured = rounds::measure(&meter, plan.rounds, |text| {
            eprintln!("[{:4.0} s] {}: {text}", begun.elapsed().as_secs_f64(), workload.name);
        })?;
        println!("{}", table::text(&measured.outcome));
        results.outcomes.push(measured.outcome);
        missing.extend(measured.missing);
    }
    if missing.is_empty() {
        let path = results.keep(&arguments.results, suite.name)?;
        let seconds = begun.elapsed().as_secs_f64();
        println!("wrote {}, with JSON and SVG beside it, after {seconds:.0} s", path.display());
    } else {
        println!("{}: results not written: {}", suite.name, missing.join("; "));
    }
    Ok(missing)
}
