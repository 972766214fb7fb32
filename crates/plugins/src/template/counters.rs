//! Counts matches and failures of templates, per server of the block.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family, registry};
use wire::Rtype;

use super::record::{RecordError, section_name};

const MATCHES: (&str, &str) = ("coredns_template_matches_total", "Counter of template regex matches.");
const TEMPLATE_FAILURES: (&str, &str) =
    ("coredns_template_template_failures_total", "Counter of go template failures.");
const RECORD_FAILURES: (&str, &str) = ("coredns_template_rr_failures_total", "Counter of mis-templated RRs.");

const MATCH_LABELS: &[&str] = &["server", "zone", "view", "class", "type"];
const FAILURE_LABELS: &[&str] = &["server", "zone", "view", "class", "type", "section", "template"];

/// Types below this number have a cached counter in class IN; enough for all common types.
const CELLS: usize = 258;

/// Set when the blocks are linked.
#[derive(Default)]
pub(super) struct Counters {
    linked: OnceLock<LinkedCounters>,
}

struct LinkedCounters {
    view: String,
    servers: Vec<Server>,
    /// None if the metric name is taken; then nothing is exported.
    matches: Option<Arc<Family<Counter>>>,
}

struct Server {
    label: String,
    zones: Vec<Zone>,
}

struct Zone {
    text: String,
    /// Indexed by type number.
    cells: Box<[OnceLock<Arc<Counter>>]>,
}

impl Counters {
    pub fn link<'a>(
        &self,
        labels: impl Iterator<Item = &'a str>,
        zones: impl Iterator<Item = &'a str>,
        view: &str,
    ) {
        let zones: Vec<&str> = zones.collect();
        let mut servers: Vec<Server> = Vec::new();
        for label in labels {
            if servers.iter().any(|known| known.label == label) {
                continue;
            }
            let zone = |text: &&str| Zone {
                text: (*text).to_owned(),
                cells: (0..CELLS).map(|_| OnceLock::new()).collect(),
            };
            servers.push(Server { label: label.to_owned(), zones: zones.iter().map(zone).collect() });
        }
        let matches = registry().counters(MATCHES.0, MATCHES.1, MATCH_LABELS).ok();
        let _ = self.linked.set(LinkedCounters { view: view.to_owned(), servers, matches });
    }

    fn zone(&self, server: &str, zone: usize) -> Option<(&LinkedCounters, &Zone)> {
        let linked = self.linked.get()?;
        let server = linked.servers.iter().find(|known| known.label == server)?;
        Some((linked, server.zones.get(zone)?))
    }

    pub fn matched(&self, server: &str, zone: usize, class: &str, rtype: &str) {
        let Some((linked, zone)) = self.zone(server, zone) else { return };
        let make = || match &linked.matches {
            Some(family) => family.with(&[server, &zone.text, &linked.view, class, rtype]),
            None => Arc::default(),
        };
        let number = Rtype::from_mnemonic(rtype).map(|rtype| usize::from(rtype.0));
        match number.filter(|_| class == "IN").and_then(|number| zone.cells.get(number)) {
            Some(cell) => cell.get_or_init(make).inc(),
            None => make().inc(),
        }
    }

    /// Looks the counter up each time; failures are rare.
    pub fn failed(&self, server: &str, zone: usize, [class, rtype]: [&str; 2], failure: &RecordError) {
        let Some((linked, zone)) = self.zone(server, zone) else { return };
        let (name, help) = if failure.in_template { TEMPLATE_FAILURES } else { RECORD_FAILURES };
        let Ok(family) = registry().counters(name, help, FAILURE_LABELS) else { return };
        let section = section_name(failure.section);
        family.with(&[server, &zone.text, &linked.view, class, rtype, section, &failure.template]).inc();
    }
}
