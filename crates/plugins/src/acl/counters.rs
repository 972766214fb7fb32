//! Counts queries by action, for each server of the block.
//!
//! A series appears with its first event, as in CoreDNS; its counter is kept, so that later queries look up no labels.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family, registry};
use server::Link;
use wire::NameBuf;

use super::Action;

const ALLOWED: (&str, &str) =
    ("coredns_acl_allowed_requests_total", "Counter of DNS requests being allowed.");
const BLOCKED: (&str, &str) =
    ("coredns_acl_blocked_requests_total", "Counter of DNS requests being blocked.");
const FILTERED: (&str, &str) =
    ("coredns_acl_filtered_requests_total", "Counter of DNS requests being filtered.");
const DROPPED: (&str, &str) =
    ("coredns_acl_dropped_requests_total", "Counter of DNS requests being dropped.");

pub(super) struct Counters {
    servers: Vec<Server>,
}

pub(super) struct Server {
    label: String,
    allowed: LazyCounter,
    zones: Vec<Zone>,
}

struct Zone {
    blocked: LazyCounter,
    filtered: LazyCounter,
    dropped: LazyCounter,
}

impl Counters {
    pub fn new(link: &Link<'_>, zones: &[NameBuf]) -> Counters {
        let view = link.view();
        Counters { servers: link.servers().iter().map(|label| Server::new(label, zones, &view)).collect() }
    }

    pub fn server(&self, label: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.label == label)
    }
}

impl Server {
    fn new(label: &str, zones: &[NameBuf], view: &str) -> Server {
        let counter =
            |family, zone: &str| LazyCounter::new(family, &["server", "zone", "view"], &[label, zone, view]);
        let zone = |zone: &NameBuf| {
            let zone = zone.to_string();
            Zone {
                blocked: counter(BLOCKED, &zone),
                filtered: counter(FILTERED, &zone),
                dropped: counter(DROPPED, &zone),
            }
        };
        Server {
            label: label.to_owned(),
            allowed: LazyCounter::new(ALLOWED, &["server", "view"], &[label, view]),
            zones: zones.iter().map(zone).collect(),
        }
    }

    /// Counts a query by its action; `zone` is the index of the deciding policy's zone.
    pub fn count(&self, action: Action, zone: Option<usize>) {
        let zone = || self.zones.get(zone?);
        let counter = match action {
            Action::Allow => Some(&self.allowed),
            Action::Block => zone().map(|zone| &zone.blocked),
            Action::Filter => zone().map(|zone| &zone.filtered),
            Action::Drop => zone().map(|zone| &zone.dropped),
        };
        if let Some(counter) = counter {
            counter.inc();
        }
    }
}

/// A series that is created with its first increment.
struct LazyCounter {
    /// None if another metric has the name; the counter is then not exported.
    family: Option<Arc<Family<Counter>>>,
    values: Box<[String]>,
    counter: OnceLock<Arc<Counter>>,
}

impl LazyCounter {
    fn new(
        (name, help): (&'static str, &'static str),
        labels: &'static [&'static str],
        values: &[&str],
    ) -> LazyCounter {
        LazyCounter {
            family: registry().counters(name, help, labels).ok(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            counter: OnceLock::new(),
        }
    }

    fn inc(&self) {
        let make = || match &self.family {
            Some(family) => family.with(&self.values.iter().map(String::as_str).collect::<Vec<_>>()),
            None => Arc::default(),
        };
        self.counter.get_or_init(make).inc();
    }
}
