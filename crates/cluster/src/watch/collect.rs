//! What a scrape looks up in the clusters that are watched: how stale and how large they are.

use std::collections::BTreeMap;

use metrics::{Collection, Kind as MetricKind};

use super::live;
pub(super) fn collect(found: &mut Collection) {
    let mut staleness: BTreeMap<String, f64> = BTreeMap::new();
    let mut quarantined: BTreeMap<String, f64> = BTreeMap::new();
    let mut objects: BTreeMap<(&str, String), f64> = BTreeMap::new();
    // Two wants on one source are two watches of it, and one series: the worse, the larger.
    for cluster in live::all() {
        let source = cluster.shared.source.to_string();
        for kind in &cluster.shared.want.kinds {
            let known = objects.entry((kind.name(), source.clone())).or_default();
            *known = known.max(cluster.snapshot().count(*kind) as f64);
        }
        let aside = quarantined.entry(source.clone()).or_default();
        *aside = aside.max(cluster.quarantined() as f64);
        let stale = staleness.entry(source).or_default();
        *stale = stale.max(cluster.staleness().as_secs_f64());
    }
    found.family(
        "rhumb_cluster_staleness_seconds",
        "Seconds since what is known of a cluster was last known to be current; 0 while it is.",
        MetricKind::Gauge,
        |rows| staleness.iter().for_each(|(source, value)| rows.value(&[("source", source)], *value)),
    );
    found.family(
        "rhumb_cluster_quarantined_objects",
        "Number of objects whose last version makes the server panic and is not served; the log names them.",
        MetricKind::Gauge,
        |rows| quarantined.iter().for_each(|(source, value)| rows.value(&[("source", source)], *value)),
    );
    found.family(
        "rhumb_cluster_objects",
        "Number of objects known of a cluster, by kind.",
        MetricKind::Gauge,
        |rows| {
            for ((kind, source), value) in &objects {
                rows.value(&[("kind", kind), ("source", source)], *value);
            }
        },
    );
}
