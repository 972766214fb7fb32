//! Gauges that are read from the watched clusters at each scrape: staleness, quarantined objects, objects per kind.

use std::collections::BTreeMap;

use metrics::{Collection, Kind as MetricKind};

use super::live;

pub(super) fn collect(collection: &mut Collection) {
    let mut staleness: BTreeMap<String, f64> = BTreeMap::new();
    let mut quarantined: BTreeMap<String, f64> = BTreeMap::new();
    let mut objects: BTreeMap<(&str, String), f64> = BTreeMap::new();
    // Two wants on one source are two clusters and one series: the larger value of both.
    for cluster in live::all() {
        let source = cluster.shared.source.to_string();
        for kind in &cluster.shared.want.kinds {
            let count = objects.entry((kind.name(), source.clone())).or_default();
            *count = count.max(cluster.snapshot().count(*kind) as f64);
        }
        let count = quarantined.entry(source.clone()).or_default();
        *count = count.max(cluster.quarantined() as f64);
        let stale = staleness.entry(source).or_default();
        *stale = stale.max(cluster.staleness().as_secs_f64());
    }
    collection.family(
        "rhumb_cluster_staleness_seconds",
        "Seconds since the data of a cluster were last known to be current; 0 while they are.",
        MetricKind::Gauge,
        |rows| staleness.iter().for_each(|(source, value)| rows.value(&[("source", source)], *value)),
    );
    collection.family(
        "rhumb_cluster_quarantined_objects",
        "Number of quarantined objects: their current version makes the server panic and is not served; the log names them.",
        MetricKind::Gauge,
        |rows| quarantined.iter().for_each(|(source, value)| rows.value(&[("source", source)], *value)),
    );
    collection.family(
        "rhumb_cluster_objects",
        "Number of objects in the index of a cluster, by kind.",
        MetricKind::Gauge,
        |rows| {
            for ((kind, source), value) in &objects {
                rows.value(&[("kind", kind), ("source", source)], *value);
            }
        },
    );
}
