//! How many queries were answered along a search path, for each server the block is part of.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family, registry};

/// Series appear with their first event, as in CoreDNS.
pub(super) struct Counters {
    /// None if something else has taken the name; then nobody sees what is counted.
    family: Option<Arc<Family<Counter>>>,
    servers: OnceLock<Vec<Server>>,
}

struct Server {
    label: String,
    made: OnceLock<Arc<Counter>>,
}

impl Counters {
    pub fn new() -> Counters {
        let (name, help) = ("coredns_autopath_success_total", "Counter of requests that did autopath.");
        Counters { family: registry().counters(name, help, &["server"]).ok(), servers: OnceLock::new() }
    }

    pub fn link<'a>(&self, labels: impl Iterator<Item = &'a str>) {
        let mut servers: Vec<Server> = Vec::new();
        for label in labels {
            if !servers.iter().any(|known| known.label == label) {
                servers.push(Server { label: label.to_owned(), made: OnceLock::new() });
            }
        }
        let _ = self.servers.set(servers);
    }

    pub fn count(&self, label: &str) {
        let server = self.servers.get().and_then(|all| all.iter().find(|server| server.label == label));
        if let (Some(server), Some(family)) = (server, &self.family) {
            server.made.get_or_init(|| family.with(&[label])).inc();
        }
    }
}
