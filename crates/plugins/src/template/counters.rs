//! Counts matches and failures of templates, per server of the block.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family, registry};
use server::Link;
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

pub(super) struct Counters {
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
    pub fn new<'a>(link: &Link<'_>, zones: impl Iterator<Item = &'a str> + Clone) -> Counters {
        let zone =
            |text: &str| Zone { text: text.to_owned(), cells: (0..CELLS).map(|_| OnceLock::new()).collect() };
        let server =
            |label: &str| Server { label: label.to_owned(), zones: zones.clone().map(zone).collect() };
        Counters {
            view: link.view(),
            servers: link.servers().into_iter().map(server).collect(),
            matches: registry().counters(MATCHES.0, MATCHES.1, MATCH_LABELS).ok(),
        }
    }

    fn zone(&self, server: &str, zone: usize) -> Option<&Zone> {
        self.servers.iter().find(|known| known.label == server)?.zones.get(zone)
    }

    pub fn matched(&self, server: &str, zone: usize, class: &str, rtype: &str) {
        let Some(zone) = self.zone(server, zone) else { return };
        let make = || match &self.matches {
            Some(family) => family.with(&[server, &zone.text, &self.view, class, rtype]),
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
        let Some(zone) = self.zone(server, zone) else { return };
        let (name, help) = if failure.in_template { TEMPLATE_FAILURES } else { RECORD_FAILURES };
        let Ok(family) = registry().counters(name, help, FAILURE_LABELS) else { return };
        let section = section_name(failure.section);
        family.with(&[server, &zone.text, &self.view, class, rtype, section, &failure.template]).inc();
    }
}
