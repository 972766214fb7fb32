//! `legacy_forward_metrics`: *forward*'s metric names up to CoreDNS 1.11, computed at scrape from the metrics that
//! replaced them, so that old dashboards and rules keep working.

use std::collections::BTreeMap;

use metrics::{Collection, Counter, Family, Histogram, Kind, Metric, Registry, registry};

const KEY: &str = "legacy_forward_metrics";
const DURATION: &str = "coredns_proxy_request_duration_seconds";
const HEALTHCHECK_FAILURES: &str = "coredns_proxy_healthcheck_failures_total";

pub(super) fn set_enabled(enabled: bool) {
    if enabled {
        registry().set_collector(KEY, |found| collect(registry(), found));
    } else {
        registry().remove_collector(KEY);
    }
}

pub(super) fn collect(registry: &Registry, found: &mut Collection) {
    if let Some(durations) = registry.find::<Histogram>(DURATION) {
        let rows: BTreeMap<[String; 2], _> =
            forward_series(&durations, ["rcode", "to"], Histogram::snapshot).collect();
        let mut requests: BTreeMap<&str, u64> = BTreeMap::new();
        for ([_, to], row) in &rows {
            *requests.entry(to).or_default() += row.count;
        }
        let help = "Counter of requests made per upstream.";
        found.family("coredns_forward_requests_total", help, Kind::Counter, |out| {
            requests.iter().for_each(|(to, count)| out.value(&[("to", to)], *count as f64));
        });
        let help = "Counter of responses received per upstream.";
        found.family("coredns_forward_responses_total", help, Kind::Counter, |out| {
            for ([rcode, to], row) in &rows {
                out.value(&[("rcode", rcode), ("to", to)], row.count as f64);
            }
        });
        let help = "Histogram of the time each request took.";
        found.family("coredns_forward_request_duration_seconds", help, Kind::Histogram, |out| {
            for ([rcode, to], row) in &rows {
                out.histogram(&[("rcode", rcode), ("to", to)], row);
            }
        });
    }
    if let Some(failures) = registry.find::<Counter>(HEALTHCHECK_FAILURES) {
        let rows: BTreeMap<[String; 1], u64> = forward_series(&failures, ["to"], Counter::get).collect();
        let help = "Counter of the number of failed healthchecks.";
        found.family("coredns_forward_healthcheck_failures_total", help, Kind::Counter, |out| {
            rows.iter().for_each(|([to], count)| out.value(&[("to", to)], *count as f64));
        });
    }
}

/// The series of *forward*, by these labels; other plugins use the same families.
fn forward_series<M: Metric, T, const N: usize>(
    family: &Family<M>,
    labels: [&str; N],
    value: impl Fn(&M) -> T,
) -> impl Iterator<Item = ([String; N], T)> {
    let position = |label: &str| family.labels().iter().position(|known| *known == label);
    let owner = position("proxy_name");
    let positions = labels.map(position);
    family.series().into_iter().filter_map(move |(values, metric)| {
        let text = |at: Option<usize>| at.and_then(|at| values.get(at)).map_or("", |text| &**text);
        (text(owner) == "forward").then(|| (positions.map(|at| text(at).to_owned()), value(&metric)))
    })
}
