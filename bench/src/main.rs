//! `make bench`: CPU time per query, Rhumb beside CoreDNS and a loop that answers nothing.
//!
//! ```text
//! workload (hosts file, questions, Corefile)
//!    └─→ contenders on CPU 0, dnsperf on CPU 1 ──rounds──→ samples ──→ medians ──→ terminal, JSON, Markdown
//! ```
//!
//! `README.md` beside this says how to read the numbers.

mod contender;
mod machine;
mod measure;
mod results;
mod spread;
mod table;
mod workload;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use testkit::error::{Error, Result};

use contender::{Contender, Kind};
use machine::Machine;
use measure::{Load, Sample};
use results::{Outcome, Results};
use workload::Workload;

/// Measures CPU time per query of the servers named by RHUMB_BIN, RHUMB_PEER_COREDNS and RHUMB_ECHO.
#[derive(Parser)]
struct Arguments {
    /// How often each server is measured under each load
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// How long one measurement takes
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    /// Only this workload: hosts or kubeadm-like
    #[arg(long)]
    workload: Option<String>,

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
    let workloads: Vec<Workload> = workload::all()
        .into_iter()
        .filter(|workload| arguments.workload.as_ref().is_none_or(|name| name == workload.name))
        .collect();
    if workloads.is_empty() {
        return Err(Error::new("there is no such workload; there are hosts and kubeadm-like"));
    }
    let begun = Instant::now();
    let mut missing = Vec::new();
    let mut results = Results::new(Machine::look(), arguments.rounds, arguments.seconds);
    for workload in &workloads {
        let outcome = measure_workload(workload, arguments, begun, &mut missing)?;
        println!("{}", table::text(&outcome));
        results.outcomes.push(outcome);
    }
    // What could be measured is shown, but results without one of the servers are no results.
    if !missing.is_empty() {
        return Err(Error::new(format!("not measured, nothing kept: {}", missing.join("; "))));
    }
    let kept = results.keep(&arguments.results)?;
    println!(
        "kept in {} and beside it as JSON, after {:.0} s",
        kept.display(),
        begun.elapsed().as_secs_f64()
    );
    Ok(())
}

fn measure_workload(
    workload: &Workload,
    arguments: &Arguments,
    begun: Instant,
    missing: &mut Vec<String>,
) -> Result<Outcome> {
    let progress =
        |text: &str| eprintln!("[{:4.0} s] {}: {text}", begun.elapsed().as_secs_f64(), workload.name);
    let mut contenders = Vec::new();
    for &kind in workload.contenders {
        match Contender::start(kind, workload) {
            Ok(contender) => contenders.push(contender),
            Err(error) => missing.push(format!("{} in {}: {error}", kind.name(), workload.name)),
        }
    }
    let duration = Duration::from_secs(arguments.seconds);
    contender::agree(&contenders, workload)?;

    // The fixed load follows from what CoreDNS can do, so that it is below everybody's saturation.
    let slowest = contenders.iter().find(|c| c.kind() == Kind::CoreDns).or_else(|| contenders.first());
    let Some(slowest) = slowest else {
        return Err(Error::new(format!("no server at all: {}", missing.join("; "))));
    };
    let most = measure::sample(slowest, workload, Load::Saturation, duration)?;
    let rate = (most.queries_per_second / 2.0) as u32;
    progress(&format!(
        "{} does {:.0} queries/s; half of it is the fixed load",
        slowest.kind().name(),
        most.queries_per_second
    ));

    let loads: Vec<Load> = [Load::Fixed(rate), Load::Saturation].into_iter().take(workload.loads).collect();
    let mut samples: Vec<(Kind, Load, Sample)> = Vec::new();
    for round in 1..=arguments.rounds {
        for &load in &loads {
            // One after another within a round, so that whatever else the machine does hits all alike.
            for contender in &contenders {
                let sample = measure::sample(contender, workload, load, duration)?;
                progress(&format!(
                    "round {round}/{}, {load}, {}: {sample}",
                    arguments.rounds,
                    contender.kind().name()
                ));
                samples.push((contender.kind(), load, sample));
            }
        }
    }
    Ok(Outcome::new(workload, rate, samples))
}
