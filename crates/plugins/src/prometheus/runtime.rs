//! `runtime_metrics`: metrics of waiting queries and of tokio, where CoreDNS has those of Go's runtime.

use metrics::{Collection, Kind, registry};

const KEY: &str = "runtime_metrics";

pub(super) fn set_enabled(enabled: bool) {
    if enabled {
        registry().set_collector(KEY, collect);
    } else {
        registry().remove_collector(KEY);
    }
}

fn collect(found: &mut Collection) {
    let tokio = server::runtime::handle().metrics();
    for (name, help, value) in [
        ("rhumb_waiting_queries", "Queries waiting, for an upstream for example.", server::waiting() as f64),
        ("rhumb_tokio_tasks", "Number of tokio tasks alive.", tokio.num_alive_tasks() as f64),
        (
            "rhumb_tokio_queued_tasks",
            "Number of tokio tasks in the global queue.",
            tokio.global_queue_depth() as f64,
        ),
        ("rhumb_tokio_threads", "Number of tokio worker threads.", tokio.num_workers() as f64),
    ] {
        found.gauge(name, help, value);
    }
    let help = "Time tokio worker threads were busy, in seconds.";
    found.family("rhumb_tokio_busy_seconds_total", help, Kind::Counter, |rows| {
        for thread in 0..tokio.num_workers() {
            let busy = tokio.worker_total_busy_duration(thread).as_secs_f64();
            rows.value(&[("thread", &thread.to_string())], busy);
        }
    });
}
