//! Results for programs.

use serde_json::{Map, Value, json};

use crate::results::{Outcome, Ratio, Results, Row};
use bench::spread::Spread;

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
        "queries_per_look_up": outcome.queries_per_look_up,
        "rows": outcome.rows.iter().map(row).collect::<Vec<_>>(),
        "ratios": outcome.ratios().iter().map(ratio).collect::<Vec<_>>(),
    })
}

fn row(row: &Row) -> Value {
    let spread = |s: Spread| json!({ "median": s.median, "min": s.min, "max": s.max });
    json!({
        "load": row.load.name(),
        "server": row.server.name(),
        "user_us_per_query": spread(row.user),
        "system_us_per_query": spread(row.system),
        "total_us_per_query": spread(row.total),
        "queries_per_second": spread(row.queries_per_second),
        "average_latency_us": spread(row.latency),
        "rss_octets": spread(row.rss),
        "forwarded_per_query": spread(row.forwarded),
        "lost": row.lost,
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
