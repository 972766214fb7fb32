//! Results for people: aligned columns for the terminal, the same as Markdown for the file.

use std::fmt::Write;

use crate::results::{Outcome, Results};
use bench::spread::Spread;

const HEAD: [&str; 11] = [
    "load",
    "server",
    "user us/query",
    "system us/query",
    "total us/query",
    "queries/s",
    "average us",
    "p50 us",
    "p99 us",
    "RSS MiB",
    "lost",
];

/// Added where a lookup is more than one query.
const LOOK_UP_HEAD: [&str; 3] = ["user us/look-up", "total us/look-up", "look-ups/s"];

const VERDICT_HEAD: [&str; 8] =
    ["goal", "load", "rhumb us", "other", "other us", "ratio", "at most", "verdict"];

const RATIO_HEAD: [&str; 6] = ["load", "rhumb to", "user", "system", "total", "queries/s"];

type Cells = Vec<Vec<String>>;

fn head(outcome: &Outcome) -> Vec<&'static str> {
    let mut head = HEAD.to_vec();
    if outcome.queries_per_look_up > 1 {
        head.extend(LOOK_UP_HEAD);
    }
    head
}

fn rows(outcome: &Outcome) -> Cells {
    let micros = |s: Spread| format!("{:.2} ({:.2}-{:.2})", s.median, s.min, s.max);
    let whole = |s: Spread| format!("{:.0} ({:.0}-{:.0})", s.median, s.min, s.max);
    let none = || "-".to_owned();
    outcome
        .rows
        .iter()
        .map(|row| {
            let mut cells = vec![
                row.load.to_string(),
                row.server.name().to_owned(),
                micros(row.user),
                micros(row.system),
                micros(row.total),
                whole(row.queries_per_second),
                whole(row.average),
                row.p50.map_or_else(none, whole),
                row.p99.map_or_else(none, whole),
                format!("{:.1}", row.rss.max / 1_048_576.0),
                row.lost.to_string(),
            ];
            let queries = outcome.queries_per_look_up;
            if queries > 1 {
                let queries = f64::from(queries);
                cells.push(micros(row.user.times(queries)));
                cells.push(micros(row.total.times(queries)));
                cells.push(whole(row.queries_per_second.times(1.0 / queries)));
            }
            cells
        })
        .collect()
}

fn ratio_rows(outcome: &Outcome) -> Cells {
    let times = |x: f64| if x.is_finite() { format!("{x:.2}") } else { "-".to_owned() };
    outcome
        .ratios()
        .iter()
        .map(|ratio| {
            vec![
                ratio.load.to_string(),
                ratio.other.name().to_owned(),
                times(ratio.user),
                times(ratio.system),
                times(ratio.total),
                times(ratio.queries_per_second),
            ]
        })
        .collect()
}

fn verdict_rows(outcome: &Outcome) -> Cells {
    outcome
        .verdicts
        .iter()
        .map(|verdict| {
            vec![
                verdict.goal.measure.name().to_owned(),
                verdict.load.to_string(),
                format!("{:.2}", verdict.ours),
                verdict.goal.other.name().to_owned(),
                format!("{:.2}", verdict.theirs),
                format!("{:.2}", verdict.ratio()),
                format!("{:.2}", verdict.goal.times),
                verdict.word().to_owned(),
            ]
        })
        .collect()
}

/// Facts for comparison, below a table.
fn remarks(outcome: &Outcome) -> Vec<String> {
    let ceiling = outcome
        .ceiling
        .map(|ceiling| format!("The upstream, queried by dnsperf directly, answers {ceiling:.0} queries/s."));
    let octets: Vec<String> =
        outcome.octets.iter().map(|(server, octets)| format!("{octets:.0} of {}", server.name())).collect();
    let octets = (!octets.is_empty()).then(|| format!("Octets of an average reply: {}.", octets.join(", ")));
    let unlogged = outcome
        .rows
        .iter()
        .filter(|row| row.unlogged > 0)
        .map(|row| format!("{} dropped {} log lines at {}.", row.server.name(), row.unlogged, row.load));
    ceiling.into_iter().chain(octets).chain(unlogged).collect()
}

/// For the terminal.
pub fn text(outcome: &Outcome) -> String {
    let mut text = format!("\n{}: {}; median (min-max)\n\n", outcome.workload, outcome.about);
    aligned(&head(outcome), &rows(outcome), &mut text);
    for remark in remarks(outcome) {
        let _ = writeln!(text, "\n  {remark}");
    }
    let ratios = ratio_rows(outcome);
    if !ratios.is_empty() {
        text.push_str("\nRhumb's medians divided by the other's\n\n");
        aligned(&RATIO_HEAD, &ratios, &mut text);
    }
    let verdicts = verdict_rows(outcome);
    if !verdicts.is_empty() {
        text.push_str("\nGoals\n\n");
        aligned(&VERDICT_HEAD, &verdicts, &mut text);
    }
    text
}

fn aligned(head: &[&str], rows: &Cells, text: &mut String) {
    let head: Vec<String> = head.iter().map(|word| (*word).to_owned()).collect();
    let lines: Vec<&Vec<String>> = std::iter::once(&head).chain(rows).collect();
    let width =
        |column: usize| lines.iter().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for line in lines {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
        // Writing to a String does not fail.
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
}

/// For the file, which shows the plot beside it.
pub fn markdown(results: &Results, plot: &str) -> String {
    let mut text = String::from("# CPU per query\n\nHow this is measured and read: `bench/README.md`.\n\n");
    let facts: Vec<Vec<String>> =
        results.machine.facts.iter().map(|(what, value)| vec![(*what).to_owned(), value.clone()]).collect();
    piped(&["what", "value"], &facts, &mut text);
    let _ = writeln!(
        text,
        "\n{} rounds of {} s each. Cells are median (min-max).",
        results.plan.rounds, results.plan.seconds
    );
    let _ = writeln!(text, "\n![CPU time per query]({plot})");
    for outcome in &results.outcomes {
        let _ = writeln!(text, "\n## {}\n\n{}.\n", outcome.workload, outcome.about);
        piped(&head(outcome), &rows(outcome), &mut text);
        for remark in remarks(outcome) {
            let _ = writeln!(text, "\n{remark}");
        }
        text.push_str("\nRhumb's medians divided by the other's:\n\n");
        piped(&RATIO_HEAD, &ratio_rows(outcome), &mut text);
        let verdicts = verdict_rows(outcome);
        if !verdicts.is_empty() {
            text.push_str("\nGoals:\n\n");
            piped(&VERDICT_HEAD, &verdicts, &mut text);
        }
    }
    text
}

fn piped(head: &[&str], rows: &Cells, text: &mut String) {
    let _ = writeln!(text, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_markdown_have_the_same_cells() {
        let results = Results::example();
        let (text, markdown) = (text(&results.outcomes[0]), markdown(&results, "example.svg"));
        for cells in [
            &["500 queries/s", "rhumb", "1.50 (1.00-2.00)", "6.50 (6.00-7.00)", "8.00 (7.00-9.00)"][..],
            &["saturation", "coredns", "0.38", "0.75", "0.56", "1.00"],
            &["total time", "saturation", "9.00", "coredns", "16.00", "0.56", "0.50", "NOT met"],
        ] {
            let line = |text: &str| text.lines().any(|line| cells.iter().all(|cell| line.contains(cell)));
            assert!(line(&text), "{cells:?} is not in {text}");
            assert!(line(&markdown), "{cells:?} is not in {markdown}");
        }
        assert!(markdown.contains("![CPU time per query](example.svg)"));
    }
}
