//! Results as text and Markdown.

use std::fmt::Write;

use crate::percentile::Times;
use crate::results::{Outcome, PhaseRow, Results, Row, StormRow};
use crate::table::table;
use crate::targets;
use bench::spread::Spread;

const SIZE_HEAD: [&str; 10] = [
    "server",
    "start s",
    "RSS MB",
    "peak at start MB",
    "before relist MB",
    "peak at relist MB",
    "after relist MB",
    "write to answer p50 ms",
    "p99 ms",
    "watch to answer p50, p99 ms",
];

const STORM_HEAD: [&str; 9] = [
    "server",
    "changes/s",
    "user CPU %",
    "system CPU %",
    "CPU %",
    "answers p50, p99 ms",
    "lost",
    "change to answer p50, p99 ms",
    "RSS, peak MB",
];

const TARGET_HEAD: [&str; 5] = ["size", "target", "value", "at most", "verdict"];

pub fn size(outcome: &Outcome) -> String {
    let rows: Vec<Vec<String>> = outcome.rows.iter().map(size_row).collect();
    format!("\n## {}\n\n{}.\n\n{}", outcome.size.letter, outcome.size.about, table(&SIZE_HEAD, &rows))
}

fn size_row(row: &Row) -> Vec<String> {
    let mut cells = vec![row.server.name().to_owned(), spread(row.start, 1.0, 2)];
    let memory = [row.rss, row.start_peak, row.relist_before, row.relist_peak, row.relist_after];
    cells.extend(memory.map(megabytes));
    cells.extend([row.from_write.p50(), row.from_write.p99()].map(|ms| format!("{ms:.2}")));
    cells.push(pair(&row.from_event));
    cells
}

pub fn storm(rows: &[StormRow]) -> String {
    let cells = rows.iter().flat_map(|row| {
        let memory = format!("{}, {}", megabytes(row.rss), megabytes(row.peak));
        [
            storm_row(row, "none", &row.quiet, "", ""),
            storm_row(row, &crate::storm::CHANGES.to_string(), &row.storm, &pair(&row.delays), &memory),
        ]
    });
    let about = format!(
        "The cluster of a, at a scripted API server; {} queries/s meanwhile. CPU is that of one processor.",
        crate::clients::RATE
    );
    format!("\n## storm\n\n{about}\n\n{}", table(&STORM_HEAD, &cells.collect::<Vec<_>>()))
}

fn storm_row(row: &StormRow, changes: &str, phase: &PhaseRow, delays: &str, memory: &str) -> Vec<String> {
    let percent = |share: Spread| spread(share, 100.0, 1);
    vec![
        row.server.name().to_owned(),
        changes.to_owned(),
        percent(phase.user),
        percent(phase.system),
        percent(phase.cpu),
        pair(&phase.answers),
        phase.lost.to_string(),
        delays.to_owned(),
        memory.to_owned(),
    ]
}

pub fn targets(results: &Results) -> String {
    let rows: Vec<Vec<String>> = targets::all(results)
        .iter()
        .map(|target| {
            let value = |value: f64| format!("{value:.2} {}", target.unit);
            let (of, what, verdict) = (target.of, target.what, target.verdict());
            vec![of.into(), what.into(), value(target.value), value(target.most), verdict.into()]
        })
        .collect();
    format!("\n## Targets\n\n{}", table(&TARGET_HEAD, &rows))
}

pub fn markdown(results: &Results) -> String {
    let mut text = String::from("# Large clusters\n\nHow this is measured and read: `bench/README.md`.\n\n");
    let facts = &results.machine.facts;
    let facts: Vec<Vec<String>> =
        facts.iter().map(|(what, value)| vec![(*what).to_owned(), value.clone()]).collect();
    text.push_str(&table(&["what", "value"], &facts));
    let plan = results.plan;
    let _ = writeln!(
        text,
        "\n{} rounds, {} changes in each; {} s with and without a storm of changes. Cells are median (min-max), \
         percentiles are of all rounds together. 1 MB is 1,000,000 octets.",
        plan.rounds, plan.changes, plan.storm_seconds
    );
    text.push_str(&targets(results));
    text.extend(results.outcomes.iter().map(size));
    if !results.storm.is_empty() {
        text.push_str(&storm(&results.storm));
    }
    text
}

fn megabytes(octets: Spread) -> String {
    spread(octets, 1e-6, 1)
}

fn spread(of: Spread, factor: f64, digits: usize) -> String {
    let Spread { median, min, max } = of.times(factor);
    format!("{median:.digits$} ({min:.digits$}-{max:.digits$})")
}

fn pair(times: &Times) -> String {
    format!("{:.2}, {:.2}", times.p50(), times.p99())
}
