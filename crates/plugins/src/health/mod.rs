//! `health`: reports over HTTP that the process is alive, and probes its own endpoint once a second to measure the
//! latency. It is not in the query chain.

mod setup;
#[cfg(test)]
mod tests;

use std::io;
use std::time::{Duration, Instant};

use metrics::{Counter, Histogram, RegisterError, buckets, registry};
use server::http::{HttpAnswer, HttpRequest, probe};
use server::log::{self, Logger};

pub(crate) use setup::setup;

const LOG: Logger = log::plugin("health");
const PATH: &str = "/health";

const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// A slower probe is logged.
const SLOW_PROBE: Duration = Duration::from_secs(1);

static REQUEST_DURATION: Histogram = Histogram::new(buckets::SLIM_TIME);
static REQUEST_FAILURES: Counter = Counter::new();

pub(crate) fn register_metrics() -> Result<(), RegisterError> {
    registry().register_histogram(
        "coredns_health_request_duration_seconds",
        "Histogram of the time (in seconds) each request took.",
        &REQUEST_DURATION,
    )?;
    registry().register_counter(
        "coredns_health_request_failures_total",
        "The number of times the health check failed.",
        &REQUEST_FAILURES,
    )?;
    Ok(())
}

/// Always OK, also in lameduck, when the process still serves.
fn answer(_: &HttpRequest) -> HttpAnswer {
    HttpAnswer::text(200, "OK")
}

/// Requests the endpoint as a client would.
fn probe_self(addr: &str) {
    let start = Instant::now();
    record_probe(addr, probe(addr, PATH, PROBE_TIMEOUT), start.elapsed());
}

fn record_probe(addr: &str, result: io::Result<Duration>, elapsed: Duration) {
    REQUEST_DURATION.observe(elapsed.as_secs_f64());
    match result {
        Err(error) => {
            REQUEST_FAILURES.inc();
            LOG.warning(format_args!("Local health request to \"http://{addr}{PATH}\" failed: {error}"));
        }
        Ok(_) if elapsed > SLOW_PROBE => {
            let took = golang::GoDuration::from(elapsed);
            LOG.warning(format_args!(
                "Local health request to \"http://{addr}{PATH}\" took more than 1s: {took}"
            ));
        }
        Ok(_) => {}
    }
}
