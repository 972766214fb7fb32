//! How many queries were let through and how many were not, for each server the block is part of.
//!
//! A series appears with its first event, as in CoreDNS, and is kept from then on; no query looks a label up.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family, registry};
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

/// Known when all blocks are.
#[derive(Default)]
pub(super) struct Counters {
    servers: OnceLock<Vec<Server>>,
}

pub(super) struct Server {
    label: String,
    allowed: Count,
    zones: Vec<Zone>,
}

struct Zone {
    blocked: Count,
    filtered: Count,
    dropped: Count,
}

impl Counters {
    pub fn link<'a>(&self, labels: impl Iterator<Item = &'a str>, zones: &[NameBuf], view: &str) {
        let mut servers: Vec<Server> = Vec::new();
        for label in labels {
            if !servers.iter().any(|known| known.label == label) {
                servers.push(Server::new(label, zones, view));
            }
        }
        let _ = self.servers.set(servers);
    }

    pub fn of(&self, label: &str) -> Option<&Server> {
        self.servers.get()?.iter().find(|server| server.label == label)
    }
}

impl Server {
    fn new(label: &str, zones: &[NameBuf], view: &str) -> Server {
        let of_zone =
            |family, zone: &str| Count::new(family, &["server", "zone", "view"], &[label, zone, view]);
        let zone = |zone: &NameBuf| {
            let zone = zone.to_string();
            Zone {
                blocked: of_zone(BLOCKED, &zone),
                filtered: of_zone(FILTERED, &zone),
                dropped: of_zone(DROPPED, &zone),
            }
        };
        Server {
            label: label.to_owned(),
            allowed: Count::new(ALLOWED, &["server", "view"], &[label, view]),
            zones: zones.iter().map(zone).collect(),
        }
    }

    /// Counts what was done with a query; the zone is that of the line that decided.
    pub fn count(&self, action: Action, zone: Option<usize>) {
        let zone = || self.zones.get(zone?);
        let count = match action {
            Action::Allow => Some(&self.allowed),
            Action::Block => zone().map(|zone| &zone.blocked),
            Action::Filter => zone().map(|zone| &zone.filtered),
            Action::Drop => zone().map(|zone| &zone.dropped),
        };
        if let Some(count) = count {
            count.inc();
        }
    }
}

/// A series that is made when it is first needed.
struct Count {
    /// None if something else has taken the name; then nobody sees what is counted.
    family: Option<Arc<Family<Counter>>>,
    values: Box<[String]>,
    made: OnceLock<Arc<Counter>>,
}

impl Count {
    fn new(
        (name, help): (&'static str, &'static str),
        labels: &'static [&'static str],
        values: &[&str],
    ) -> Count {
        Count {
            family: registry().counters(name, help, labels).ok(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            made: OnceLock::new(),
        }
    }

    fn inc(&self) {
        let make = || match &self.family {
            Some(family) => family.with(&self.values.iter().map(String::as_str).collect::<Vec<_>>()),
            None => Arc::default(),
        };
        self.made.get_or_init(make).inc();
    }
}
