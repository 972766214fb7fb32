//! All samples of a run, their medians, and the result files.

use std::path::{Path, PathBuf};

use testkit::error::{Context, Result};

use crate::contender::Kind;
use crate::goal::Verdict;
use crate::load::Load;
use crate::measure::Sample;
use crate::prober::Latency;
use crate::rounds::Plan;
use crate::workload::Workload;
use crate::{json, plot, table};
use bench::machine::Machine;
use bench::spread::Spread;

pub struct Results {
    pub machine: Machine,
    pub plan: Plan,
    pub outcomes: Vec<Outcome>,
}

/// One workload.
pub struct Outcome {
    pub workload: &'static str,
    pub about: &'static str,
    pub rate: u32,
    /// Queries per second of the upstream alone, where every query is forwarded.
    pub ceiling: Option<f64>,
    /// Octets of an average reply, where servers were compared.
    pub octets: Vec<(Kind, f64)>,
    pub queries_per_look_up: u32,
    pub rows: Vec<Row>,
    pub verdicts: Vec<Verdict>,
}

/// One server under one load.
pub struct Row {
    pub load: Load,
    pub server: Kind,
    pub user: Spread,
    pub system: Spread,
    pub total: Spread,
    pub queries_per_second: Spread,
    /// dnsperf's average.
    pub average: Spread,
    /// Of single answers, where measured.
    pub p50: Option<Spread>,
    pub p99: Option<Spread>,
    pub rss: Spread,
    pub forwarded: Spread,
    pub lost: u64,
    /// Dropped log lines.
    pub unlogged: u64,
    pub samples: Vec<Sample>,
}

impl Row {
    fn new(load: Load, server: Kind, samples: Vec<Sample>) -> Self {
        let spread = |value: fn(&Sample) -> f64| Spread::of(samples.iter().map(value));
        let timed = |value: fn(Latency) -> f64| {
            let values: Vec<f64> = samples.iter().filter_map(|s| s.latency.map(value)).collect();
            (!values.is_empty()).then(|| Spread::of(values))
        };
        Self {
            load,
            server,
            user: spread(|s| s.user),
            system: spread(|s| s.system),
            total: spread(Sample::total),
            queries_per_second: spread(|s| s.queries_per_second),
            average: spread(|s| s.average),
            p50: timed(|latency| latency.p50),
            p99: timed(|latency| latency.p99),
            rss: spread(|s| s.rss as f64),
            forwarded: spread(|s| s.forwarded),
            lost: samples.iter().map(|s| s.lost).sum(),
            unlogged: samples.iter().map(|s| s.unlogged).sum(),
            samples,
        }
    }
}

/// Rhumb's medians divided by another server's.
pub struct Ratio {
    pub load: Load,
    pub other: Kind,
    pub user: f64,
    pub system: f64,
    pub total: f64,
    pub queries_per_second: f64,
}

impl Outcome {
    pub fn new(
        workload: &Workload,
        rate: u32,
        ceiling: Option<f64>,
        samples: Vec<(Kind, Load, Sample)>,
    ) -> Self {
        let mut groups: Vec<(Load, Kind, Vec<Sample>)> = Vec::new();
        for (server, load, sample) in samples {
            match groups.iter_mut().find(|(l, s, _)| *l == load && *s == server) {
                Some((_, _, group)) => group.push(sample),
                None => groups.push((load, server, vec![sample])),
            }
        }
        let rows =
            groups.into_iter().map(|(load, server, samples)| Row::new(load, server, samples)).collect();
        let Workload { name, about, queries_per_look_up, .. } = *workload;
        let (octets, verdicts) = (Vec::new(), Vec::new());
        let mut outcome =
            Self { workload: name, about, rate, ceiling, octets, queries_per_look_up, rows, verdicts };
        outcome.verdicts = Verdict::all(workload.goals, &outcome);
        outcome
    }

    pub fn ratios(&self) -> Vec<Ratio> {
        let mut ratios = Vec::new();
        for ours in self.rows.iter().filter(|row| row.server == Kind::Rhumb) {
            for theirs in self.rows.iter().filter(|row| row.load == ours.load && row.server != Kind::Rhumb) {
                ratios.push(Ratio {
                    load: ours.load,
                    other: theirs.server,
                    user: ours.user.median / theirs.user.median,
                    system: ours.system.median / theirs.system.median,
                    total: ours.total.median / theirs.total.median,
                    queries_per_second: ours.queries_per_second.median / theirs.queries_per_second.median,
                });
            }
        }
        ratios
    }
}

impl Results {
    pub fn new(workloads: &[Workload], plan: Plan) -> Self {
        let mut servers: Vec<Kind> = workloads
            .iter()
            .flat_map(|workload| workload.contenders)
            .copied()
            .filter(|kind| kind.is_included())
            .collect();
        servers.sort();
        servers.dedup();
        let versions = servers.iter().filter_map(|server| Some((server.name(), server.version()?)));
        Self { machine: Machine::look(versions), plan, outcomes: Vec::new() }
    }

    /// Writes `NAME-DATE.md`, `.json` and `.svg`; a second run on one day replaces the first. Returns the Markdown's path.
    pub fn keep(&self, folder: &Path, name: &str) -> Result<PathBuf> {
        std::fs::create_dir_all(folder).context(folder.display())?;
        let path = folder.join(format!("{name}-{}.md", self.machine.date));
        let plot = format!("{name}-{}.svg", self.machine.date);
        for (path, text) in [
            (path.clone(), table::markdown(self, &plot)),
            (path.with_extension("json"), format!("{:#}\n", json::value(self))),
            (path.with_extension("svg"), plot::svg(self)),
        ] {
            std::fs::write(&path, text).context(path.display())?;
        }
        Ok(path)
    }
}

#[cfg(test)]
impl Results {
    /// Two rounds of Rhumb and CoreDNS under both loads, with goals.
    pub fn example() -> Self {
        use crate::goal::{Goal, Measure};
        use crate::workload::Workload;
        const GOALS: &[Goal] = &[
            Goal::at_most(0.5, Measure::Total, Kind::CoreDns),
            Goal::at_most(0.25, Measure::User, Kind::CoreDns),
            Goal::at_most(0.5, Measure::P99, Kind::CoreDns),
            Goal::at_most(0.5, Measure::Total, Kind::Knot),
        ];
        let workload = Workload { goals: GOALS, ..Workload::new("example", "this & <that>", "") };
        let (fixed, full) = (Load::Fixed(500), Load::Saturation);
        let samples = vec![
            (Kind::Rhumb, fixed, Sample::of(1.0, 6.0, Some(90.0))),
            (Kind::Rhumb, fixed, Sample::of(2.0, 7.0, Some(110.0))),
            (Kind::CoreDns, fixed, Sample::of(10.0, 10.0, Some(1000.0))),
            (Kind::Rhumb, full, Sample::of(3.0, 6.0, None)),
            (Kind::CoreDns, full, Sample::of(8.0, 8.0, None)),
        ];
        let machine = Machine { date: "2026-11-15".to_owned(), facts: vec![("cpu", "some".to_owned())] };
        let plan = Plan { rounds: 2, seconds: 4 };
        Self { machine, plan, outcomes: vec![Outcome::new(&workload, 500, None, samples)] }
    }
}
