//! All samples of a run, their medians, and the result files.

use std::path::{Path, PathBuf};

use testkit::Kind;
use testkit::error::{Context, Result};

use crate::arguments::Plan;
use crate::data::Size;
use crate::percentile::Times;
use crate::round::Sample;
use crate::storm::{self, Phase};
use crate::{json, report, server};
use bench::machine::Machine;
use bench::spread::Spread;

pub struct Results {
    pub machine: Machine,
    pub plan: Plan,
    pub outcomes: Vec<Outcome>,
    pub storm: Vec<StormRow>,
}

/// One size.
pub struct Outcome {
    pub size: &'static Size,
    pub rows: Vec<Row>,
}

/// One server at one size. Memory is in octets, times of starts in seconds, delays in milliseconds.
pub struct Row {
    pub server: Kind,
    pub start: Spread,
    pub rss: Spread,
    pub start_peak: Spread,
    pub relist_before: Spread,
    pub relist_peak: Spread,
    pub relist_after: Spread,
    /// The peak divided by the memory before.
    pub relist_growth: Spread,
    /// Of all rounds together.
    pub from_write: Times,
    pub from_event: Times,
}

/// One server under a thousand changes per second.
pub struct StormRow {
    pub server: Kind,
    pub quiet: PhaseRow,
    pub storm: PhaseRow,
    pub delays: Times,
    pub rss: Spread,
    pub peak: Spread,
}

pub struct PhaseRow {
    pub user: Spread,
    pub system: Spread,
    pub cpu: Spread,
    pub answers: Times,
    pub lost: u64,
    pub changes: u32,
}

impl Results {
    pub fn new(plan: Plan) -> Self {
        let machine = Machine::look(server::versions());
        Self { machine, plan, outcomes: Vec::new(), storm: Vec::new() }
    }

    /// Prints it at once: a run is long.
    pub fn add(&mut self, outcome: Outcome, shown: fn(&Outcome) -> String) {
        println!("{}", shown(&outcome));
        self.outcomes.push(outcome);
    }

    pub fn storm(&mut self, samples: Vec<(Kind, storm::Sample)>, shown: fn(&[StormRow]) -> String) {
        self.storm = by_server(samples, StormRow::new);
        println!("{}", shown(&self.storm));
    }

    /// Writes `large-clusters-DATE.json` and `.md`; a second run on one day replaces the first. Returns the Markdown's path.
    pub fn keep(&self, folder: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(folder).context(folder.display())?;
        let path = folder.join(format!("large-clusters-{}.md", self.machine.date));
        std::fs::write(&path, report::markdown(self)).context(path.display())?;
        let json = path.with_extension("json");
        std::fs::write(&json, format!("{:#}\n", json::value(self))).context(json.display())?;
        Ok(path)
    }
}

impl Outcome {
    pub fn new(size: &'static Size, samples: Vec<(Kind, Sample)>) -> Self {
        Self { size, rows: by_server(samples, Row::new) }
    }
}

impl Row {
    fn new(server: Kind, samples: &[Sample]) -> Self {
        let spread = |value: fn(&Sample) -> f64| Spread::of(samples.iter().map(value));
        Self {
            server,
            start: spread(|s| s.start.as_secs_f64()),
            rss: spread(|s| s.rss as f64),
            start_peak: spread(|s| s.start_peak as f64),
            relist_before: spread(|s| s.relist.before as f64),
            relist_peak: spread(|s| s.relist.peak as f64),
            relist_after: spread(|s| s.relist.after as f64),
            relist_growth: spread(|s| s.relist.peak as f64 / s.relist.before as f64),
            from_write: Times::together(samples.iter().map(|s| &s.delays.from_write)),
            from_event: Times::together(samples.iter().map(|s| &s.delays.from_event)),
        }
    }
}

impl StormRow {
    fn new(server: Kind, samples: &[storm::Sample]) -> Self {
        let phase = |phase: fn(&storm::Sample) -> &Phase| PhaseRow::new(samples.iter().map(phase));
        Self {
            server,
            quiet: phase(|s| &s.quiet),
            storm: phase(|s| &s.storm),
            delays: Times::together(samples.iter().map(|s| &s.delays)),
            rss: Spread::of(samples.iter().map(|s| s.rss as f64)),
            peak: Spread::of(samples.iter().map(|s| s.peak as f64)),
        }
    }
}

impl PhaseRow {
    fn new<'a>(phases: impl Iterator<Item = &'a Phase> + Clone) -> Self {
        let spread = |value: fn(&Phase) -> f64| Spread::of(phases.clone().map(value));
        Self {
            user: spread(|p| p.user),
            system: spread(|p| p.system),
            cpu: spread(Phase::cpu),
            answers: Times::together(phases.clone().map(|p| &p.answers)),
            lost: phases.clone().map(|p| p.lost).sum(),
            changes: phases.map(|p| p.sent).sum(),
        }
    }
}

/// In the order of the servers, not of measurement.
fn by_server<S, R>(samples: Vec<(Kind, S)>, row: fn(Kind, &[S]) -> R) -> Vec<R> {
    let mut groups = server::SERVERS.map(|kind| (kind, Vec::new()));
    for (kind, sample) in samples {
        if let Some((_, group)) = groups.iter_mut().find(|(server, _)| *server == kind) {
            group.push(sample);
        }
    }
    groups.iter().filter(|(_, group)| !group.is_empty()).map(|(kind, group)| row(*kind, group)).collect()
}
