//! Results for programs.

use serde_json::{Map, Value, json};

use crate::percentile::Times;
use crate::results::{Outcome, PhaseRow, Results, Row, StormRow};
use crate::targets::{self, Target};

pub fn value(results: &Results) -> Value {
    let facts: Map<String, Value> =
        results.machine.facts.iter().map(|(what, value)| ((*what).to_owned(), json!(value))).collect();
    json!({
        "machine": facts,
        "rounds": results.plan.rounds,
        "changes_per_round": results.plan.changes,
        "storm_seconds": results.plan.storm_seconds,
        "targets": targets::all(results).iter().map(target).collect::<Vec<_>>(),
        "sizes": results.outcomes.iter().map(outcome).collect::<Vec<_>>(),
        "storm": results.storm.iter().map(storm).collect::<Vec<_>>(),
    })
}

fn target(target: &Target) -> Value {
    json!({
        "of": target.of,
        "what": target.what,
        "unit": target.unit,
        "value": target.value,
        "at_most": target.most,
        "met": target.met(),
    })
}

fn outcome(outcome: &Outcome) -> Value {
    json!({
        "size": outcome.size.letter,
        "about": outcome.size.about,
        "rows": outcome.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn row(row: &Row) -> Value {
    json!({
        "server": row.server.name(),
        "start_seconds": row.start.value(),
        "rss_octets": row.rss.value(),
        "start_peak_octets": row.start_peak.value(),
        "before_relist_octets": row.relist_before.value(),
        "relist_peak_octets": row.relist_peak.value(),
        "after_relist_octets": row.relist_after.value(),
        "relist_growth": row.relist_growth.value(),
        "write_to_answer_ms": times(&row.from_write),
        "watch_to_answer_ms": times(&row.from_event),
    })
}

fn storm(row: &StormRow) -> Value {
    json!({
        "server": row.server.name(),
        "without_changes": phase(&row.quiet),
        "with_changes": phase(&row.storm),
        "change_to_answer_ms": times(&row.delays),
        "rss_octets": row.rss.value(),
        "peak_octets": row.peak.value(),
    })
}

fn phase(phase: &PhaseRow) -> Value {
    json!({
        "user_share": phase.user.value(),
        "system_share": phase.system.value(),
        "cpu_share": phase.cpu.value(),
        "answers_ms": times(&phase.answers),
        "lost": phase.lost,
        "changes": phase.changes,
    })
}

fn times(times: &Times) -> Value {
    json!({ "count": times.count(), "p50": times.p50(), "p99": times.p99(), "max": times.max() })
}
