//! All samples of a run, what they amount to, and the files that keep them.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use testkit::error::{Context, Result};

use crate::contender::Kind;
use crate::machine::Machine;
use crate::measure::{Load, Sample};
use crate::spread::Spread;
use crate::table;
use crate::workload::Workload;

pub struct Results {
    pub machine: Machine,
    pub rounds: u32,
    pub seconds: u64,
    pub outcomes: Vec<Outcome>,
}

/// One workload.
pub struct Outcome {
    pub workload: &'static str,
    pub about: &'static str,
    pub rate: u32,
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
    pub fn new(workload: &Workload, rate: u32, samples: Vec<(Kind, Load, Sample)>) -> Self {
        let mut groups: Vec<(Load, Kind, Vec<Sample>)> = Vec::new();
        for (server, load, sample) in samples {
            match groups.iter_mut().find(|(l, s, _)| *l == load && *s == server) {
                Some((_, _, group)) => group.push(sample),
                None => groups.push((load, server, vec![sample])),
            }
        }
        let rows =
            groups.into_iter().map(|(load, server, samples)| Row::new(load, server, samples)).collect();
        Self { workload: workload.name, about: workload.about, rate, rows }
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
    pub fn new(machine: Machine, rounds: u32, seconds: u64) -> Self {
        Self { machine, rounds, seconds, outcomes: Vec::new() }
    }

    /// Writes `hosts-DATE.json` and `.md`; a second run on one day replaces the first. Gives the Markdown's path.
    pub fn keep(&self, folder: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(folder).context(folder.display())?;
        let path = folder.join(format!("hosts-{}.md", self.machine.date));
        std::fs::write(&path, table::markdown(self)).context(path.display())?;
        let json = path.with_extension("json");
        std::fs::write(&json, format!("{:#}\n", self.json())).context(json.display())?;
        Ok(path)
    }

    fn json(&self) -> Value {
        let facts: Map<String, Value> =
            self.machine.facts.iter().map(|(what, value)| ((*what).to_owned(), json!(value))).collect();
        json!({
            "machine": facts,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "workloads": self.outcomes.iter().map(outcome_json).collect::<Vec<_>>(),
        })
    }
}

fn outcome_json(outcome: &Outcome) -> Value {
    let spread = |s: Spread| json!({ "median": s.median, "min": s.min, "max": s.max });
    let row = |row: &Row| {
        json!({
            "load": row.load.name(),
            "server": row.server.name(),
            "user_us_per_query": spread(row.user),
            "system_us_per_query": spread(row.system),
            "total_us_per_query": spread(row.total),
            "queries_per_second": spread(row.queries_per_second),
            "average_latency_us": spread(row.latency),
            "rss_octets": spread(row.rss),
            "lost": row.lost,
            "samples": row.samples.iter().map(|s| json!([s.user, s.system, s.queries_per_second])).collect::<Vec<_>>(),
        })
    };
    let ratio = |ratio: &crate::results::Ratio| {
        json!({
            "load": ratio.load.name(),
            "rhumb_to": ratio.other.name(),
            "user": ratio.user,
            "system": ratio.system,
            "total": ratio.total,
            "queries_per_second": ratio.queries_per_second,
        })
    };
    json!({
        "workload": outcome.workload,
        "about": outcome.about,
        "fixed_queries_per_second": outcome.rate,
        "rows": outcome.rows.iter().map(row).collect::<Vec<_>>(),
        "ratios": outcome.ratios().iter().map(ratio).collect::<Vec<_>>(),
    })
}
