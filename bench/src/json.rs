//! Results for programs.

use serde_json::{Map, Value, json};

use crate::goal::Verdict;
use bench::spread::Spread;

use crate::results::{Outcome, Ratio, Results, Row};

pub fn value(results: &Results) -> Value {
    let facts: Map<String, Value> =
        results.machine.facts.iter().map(|(what, value)| ((*what).to_owned(), json!(value))).collect();
    json!({
        "machine": facts,
        "rounds": results.plan.rounds,
        "seconds": results.plan.seconds,
        "workloads": results.outcomes.iter().map(outcome).collect::<Vec<_>>(),
    })
}

fn outcome(outcome: &Outcome) -> Value {
    json!({
        "workload": outcome.workload,
        "about": outcome.about,
        "fixed_queries_per_second": outcome.rate,
        "upstream_alone_queries_per_second": outcome.ceiling,
        "octets_per_reply": outcome.octets.iter().map(|(server, octets)| (server.name().to_owned(), json!(octets))).collect::<Map<_, _>>(),
        "queries_per_look_up": outcome.queries_per_look_up,
        "rows": outcome.rows.iter().map(row).collect::<Vec<_>>(),
        "ratios": outcome.ratios().iter().map(ratio).collect::<Vec<_>>(),
        "verdicts": outcome.verdicts.iter().map(verdict).collect::<Vec<_>>(),
    })
}

fn row(row: &Row) -> Value {
    json!({
        "load": row.load.name(),
        "server": row.server.name(),
        "user_us_per_query": row.user.value(),
        "system_us_per_query": row.system.value(),
        "total_us_per_query": row.total.value(),
        "queries_per_second": row.queries_per_second.value(),
        "average_latency_us": row.average.value(),
        "p50_latency_us": row.p50.map(Spread::value),
        "p99_latency_us": row.p99.map(Spread::value),
        "rss_octets": row.rss.value(),
        "forwarded_per_query": row.forwarded.value(),
        "lost": row.lost,
        "log_lines_left_out": row.unlogged,
        "samples": row.samples.iter().map(|s| json!([s.user, s.system, s.queries_per_second])).collect::<Vec<_>>(),
    })
}

fn ratio(ratio: &Ratio) -> Value {
    json!({
        "load": ratio.load.name(),
        "rhumb_to": ratio.other.name(),
        "user": ratio.user,
        "system": ratio.system,
        "total": ratio.total,
        "queries_per_second": ratio.queries_per_second,
    })
}

fn verdict(verdict: &Verdict) -> Value {
    json!({
        "load": verdict.load.name(),
        "measure": verdict.goal.measure.name(),
        "other": verdict.goal.other.name(),
        "rhumb_us": verdict.ours,
        "other_us": verdict.theirs,
        "ratio": verdict.ratio(),
        "at_most": verdict.goal.times,
        "met": verdict.met(),
    })
}
