//! A counter of served queries per server of a block.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Family, registry};
use server::{Link, Visit};

/// A series appears with its first query, as in CoreDNS; counting looks up no labels in the registry.
pub(crate) struct ServerCounter {
    /// None if the metric name is taken; then nothing is exported.
    family: Option<Arc<Family<Counter>>>,
    servers: Vec<(String, OnceLock<Arc<Counter>>)>,
}

impl ServerCounter {
    pub fn new(name: &'static str, help: &'static str, link: &Link<'_>) -> ServerCounter {
        let servers = link.servers().into_iter().map(|server| (server.to_owned(), OnceLock::new()));
        ServerCounter {
            family: registry().counters(name, help, &["server"]).ok(),
            servers: servers.collect(),
        }
    }

    pub fn count(&self, visit: &Visit<'_>) {
        if !visit.is_served() {
            return;
        }
        let Some((label, counter)) = self.servers.iter().find(|(label, _)| label == visit.server()) else {
            return;
        };
        let make = || self.family.as_ref().map(|family| family.with(&[label.as_str()])).unwrap_or_default();
        counter.get_or_init(make).inc();
    }
}
