//! All samples of a run, what they amount to, and the files that keep them.

use std::path::{Path, PathBuf};

use testkit::error::{Context, Result};

use crate::contender::Kind;
use crate::measure::{Load, Sample};
use crate::rounds::Plan;
use crate::workload::Workload;
use crate::{json, table};
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
    pub queries_per_look_up: u32,
    pub rows: Vec<Row>,
}

/// One server under one load.
pub struct Row {
    pub load: Load,
    pub server: Kind,
    pub user: Spread,
    pub system: Spread,
    pub total: Spread,
    pub queries_per_second: Spread,
    pub latency: Spread,
    pub rss: Spread,
    pub forwarded: Spread,
    pub lost: u64,
    pub samples: Vec<Sample>,
}

impl Row {
    fn new(load: Load, server: Kind, samples: Vec<Sample>) -> Self {
        let spread = |value: fn(&Sample) -> f64| Spread::of(samples.iter().map(value));
        Self {
            load,
            server,
            user: spread(|s| s.user),
            system: spread(|s| s.system),
            total: spread(Sample::total),
            queries_per_second: spread(|s| s.queries_per_second),
            latency: spread(|s| s.latency),
            rss: spread(|s| s.rss as f64),
            forwarded: spread(|s| s.forwarded),
            lost: samples.iter().map(|s| s.lost).sum(),
            samples,
        }
    }
}

/// How Rhumb stands to another server: its medians divided by theirs.
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
        Self { workload: name, about, rate, ceiling, queries_per_look_up, rows }
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
        let mut servers: Vec<Kind> =
            workloads.iter().flat_map(|workload| workload.contenders).copied().collect();
        servers.sort();
        servers.dedup();
        let versions = servers.iter().filter_map(|server| Some((server.name(), server.version()?)));
        Self { machine: Machine::look(versions), plan, outcomes: Vec::new() }
    }

    /// Writes `NAME-DATE.json` and `.md`; a second run on one day replaces the first. Gives the Markdown's path.
    pub fn keep(&self, folder: &Path, name: &str) -> Result<PathBuf> {
        std::fs::create_dir_all(folder).context(folder.display())?;
        let path = folder.join(format!("{name}-{}.md", self.machine.date));
        std::fs::write(&path, table::markdown(self)).context(path.display())?;
        let json = path.with_extension("json");
        std::fs::write(&json, format!("{:#}\n", json::value(self))).context(json.display())?;
        Ok(path)
    }
}
