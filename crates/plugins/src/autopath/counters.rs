//! Counts queries answered by a search, per server of the block.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family, registry};

/// A series appears with its first event, as in CoreDNS.
pub(super) struct Counters {
    /// None if the metric name is taken; then nothing is exported.
    family: Option<Arc<Family<Counter>>>,
    servers: OnceLock<Vec<Server>>,
}

struct Server {
    label: String,
    counter: OnceLock<Arc<Counter>>,
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
                servers.push(Server { label: label.to_owned(), counter: OnceLock::new() });
            }
        }
        let _ = self.servers.set(servers);
    }

    pub fn count(&self, label: &str) {
        let server = self.servers.get().and_then(|all| all.iter().find(|server| server.label == label));
        if let (Some(server), Some(family)) = (server, &self.family) {
            server.counter.get_or_init(|| family.with(&[label])).inc();
        }
    }
}
