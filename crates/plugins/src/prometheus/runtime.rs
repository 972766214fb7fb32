//! `runtime_metrics`: what goes on inside, where CoreDNS shows the insides of Go's runtime.

use metrics::{Collection, Kind, registry};

const KEY: &str = "runtime_metrics";

pub(super) fn show(wanted: bool) {
    if wanted {
        registry().set_collector(KEY, collect);
    } else {
        registry().remove_collector(KEY);
    }
}

fn collect(found: &mut Collection) {
    let tokio = server::runtime::handle().metrics();
    for (name, help, value) in [
        ("rhumb_waiting_queries", "Queries that wait for something now.", server::waiting() as f64),
        ("rhumb_tokio_tasks", "Tasks that exist now.", tokio.num_alive_tasks() as f64),
        ("rhumb_tokio_queued_tasks", "Tasks that wait for a thread.", tokio.global_queue_depth() as f64),
        ("rhumb_tokio_threads", "Threads that run tasks.", tokio.num_workers() as f64),
    ] {
        found.gauge(name, help, value);
    }
    let busy = "Time threads were busy with tasks, in seconds.";
    found.family("rhumb_tokio_busy_seconds_total", busy, Kind::Counter, |rows| {
        for thread in 0..tokio.num_workers() {
            let busy = tokio.worker_total_busy_duration(thread).as_secs_f64();
            rows.value(&[("thread", &thread.to_string())], busy);
        }
    });
}
