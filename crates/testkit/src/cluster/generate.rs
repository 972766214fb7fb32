//! Generates a cluster from a seed: every kind of object that DNS serves, including unusual ones.
//!
//! The same seed yields the same objects, addresses included, so the seed in a failed test's output
//! reproduces the cluster. Nothing here talks to an API server; [`super::load`] does.

mod addresses;
mod external;
mod imports;
mod namespaces;
mod pods;
mod ports;
mod services;
mod slices;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::objects::{Object, Resource};
use crate::random::Random;

pub use addresses::Family;
pub use external::{OUTSIDE, ZONE};
pub use namespaces::NAMESPACES;
pub use services::{KINDS, Kind};
pub use slices::ZONES;

/// Number of objects of each kind; CNAME chains, and slices without a Service, are added.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub services: usize,
    pub pods: usize,
    pub imports: usize,
}

impl Default for Size {
    fn default() -> Self {
        Self { services: 240, pods: 160, imports: 40 }
    }
}

/// Generates objects with unique names.
#[derive(Clone, Debug)]
pub struct ObjectGenerator {
    pub random: Random,
    addresses: addresses::Addresses,
    namespaces: Vec<&'static str>,
    taken: BTreeSet<(Resource, String, String)>,
    /// Makes names unique.
    counter: usize,
}

/// All objects of a cluster, namespaces first.
pub fn cluster(seed: u64, size: Size) -> Vec<Object> {
    ObjectGenerator::new(seed).cluster(size)
}

impl ObjectGenerator {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let addresses = addresses::Addresses::new(&mut random);
        let namespaces = NAMESPACES.to_vec();
        Self { random, addresses, namespaces, taken: BTreeSet::new(), counter: 0 }
    }

    /// All objects of a cluster, namespaces first. The generator can continue afterwards.
    pub fn cluster(&mut self, size: Size) -> Vec<Object> {
        let mut objects = self.namespaces();
        objects.extend(self.pods(size.pods));
        for i in 0..size.services {
            // Each kind in turn, so that a small cluster has them all.
            let kind = KINDS[i % KINDS.len()];
            objects.extend(self.service_with_slices(kind));
        }
        objects.extend(self.chains());
        objects.extend(self.orphan_slices());
        for _ in 0..size.imports {
            objects.extend(self.import_with_slices());
        }
        objects
    }

    /// Any namespace that exists.
    pub fn namespace(&mut self) -> &'static str {
        // Half of all objects in a few namespaces, so that names collide there.
        let few = if self.random.chance(0.5) { 4 } else { self.namespaces.len() };
        self.namespaces[self.random.below(few.min(self.namespaces.len()))]
    }

    /// Puts no more objects there. Keeps at least one namespace.
    pub fn retire_namespace(&mut self, name: &str) {
        if self.namespaces.len() > 1 {
            self.namespaces.retain(|namespace| *namespace != name);
        }
    }

    /// An unused name in one of several shapes.
    fn name(&mut self, resource: Resource, namespace: &str) -> String {
        const WORDS: [&str; 12] =
            ["web", "db", "cart", "api", "x", "dns", "svc", "pod", "any", "pin", "http", "tcp"];
        loop {
            self.counter += 1;
            let (word, n) = (*self.random.pick(&WORDS), self.counter);
            let name = match self.random.below(12) {
                0 => word.to_owned(),
                // A digit in front is allowed since Kubernetes 1.35.
                1 => format!("{n}{word}"),
                2 => format!("{}-{n}", "long".repeat(14)),
                3 => format!("10-244-0-{}", n % 256),
                4 => format!("{word}--{n}"),
                _ => format!("{word}-{n}"),
            };
            if self.reserve(resource, namespace, &name) {
                return name;
            }
        }
    }

    /// Reserves a name; true if it was unused.
    fn reserve(&mut self, resource: Resource, namespace: &str, name: &str) -> bool {
        self.taken.insert((resource, namespace.to_owned(), name.to_owned()))
    }

    /// Labels for the selectors of tests: `tier` is front, back or missing, `env` usually present.
    pub fn labels(&mut self) -> Value {
        let mut labels = json!({});
        if let Some(tier) = *self.random.pick(&[Some("front"), Some("back"), None]) {
            labels["tier"] = tier.into();
        }
        if self.random.chance(0.6) {
            labels["env"] = (*self.random.pick(&["prod", "test", ""])).into();
        }
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::objects::{label_of, list, text};

    fn of(objects: &[Object], resource: Resource) -> Vec<&Object> {
        objects.iter().filter(|object| object.resource == resource).collect()
    }

    #[test]
    fn same_seed_same_objects() {
        let size = Size { services: 50, pods: 20, imports: 10 };
        assert_eq!(cluster(3, size), cluster(3, size));
        assert_ne!(cluster(3, size), cluster(4, size));
    }

    #[test]
    fn every_kind_is_generated() {
        let objects = cluster(1, Size::default());
        let count = |resource| of(&objects, resource).len();
        assert!(count(Resource::Namespace) >= 12 && count(Resource::Service) >= 200);
        let services = of(&objects, Resource::Service);
        for kind in ["ClusterIP", "ExternalName", "NodePort", "LoadBalancer"] {
            assert!(
                services.iter().any(|s| text(&s.body, "/spec/type") == kind),
                "{kind} was never generated"
            );
        }
        let headless = |s: &&&Object| text(&s.body, "/spec/clusterIP") == "None";
        assert!(services.iter().filter(headless).any(|s| list(&s.body, "/spec/ports").is_empty()));
        assert!(services.iter().any(|s| list(&s.body, "/spec/clusterIPs").len() == 2));
        assert!(services.iter().any(|s| !list(&s.body, "/spec/externalIPs").is_empty()));
        assert!(services.iter().any(|s| s.name.starts_with(|c: char| c.is_ascii_digit())));
        assert!(services.iter().any(|s| s.name.len() > 55));

        let slices = of(&objects, Resource::EndpointSlice);
        let endpoints: Vec<&Value> = slices.iter().flat_map(|s| list(&s.body, "/endpoints")).collect();
        let some = |test: &dyn Fn(&&&Value) -> bool| endpoints.iter().any(|e| test(&e));
        assert!(some(&|e| e.pointer("/conditions/ready") == Some(&false.into())));
        assert!(some(&|e| e.pointer("/conditions/ready").is_none()));
        assert!(some(&|e| e.pointer("/conditions/terminating") == Some(&true.into())));
        assert!(some(&|e| text(e, "/targetRef/name").len() > 63));
        assert!(some(&|e| text(e, "/zone").contains('.')));
        assert!(some(&|e| text(e, "/zone").contains(|c: char| c.is_ascii_uppercase())));
        assert!(some(&|e| !text(e, "/hostname").is_empty()));
        for family in ["IPv4", "IPv6", "FQDN"] {
            assert!(
                slices.iter().any(|s| text(&s.body, "/addressType") == family),
                "{family} was never generated"
            );
        }
        let no_number = |p: &Value| p.get("port").is_none();
        assert!(slices.iter().any(|s| list(&s.body, "/ports").iter().any(no_number)));
        assert!(slices.iter().any(|s| s.body.get("ports").is_none()));
        assert!(slices.iter().any(|s| label_of(&s.body, "kubernetes.io/service-name").is_none()));

        let pods = of(&objects, Resource::Pod);
        let phase = |p: &&Object| p.status.as_ref().map_or("", |s| text(s, "/phase")).to_owned();
        let phases: BTreeSet<String> = pods.iter().map(phase).collect();
        assert_eq!(phases.len(), 5, "{phases:?}");
        assert!(pods.iter().any(|p| p.terminating));
        assert!(!of(&objects, Resource::ServiceImport).is_empty());
    }
}
