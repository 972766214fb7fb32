//! ExternalName Services: to names outside and inside the cluster, in chains and in loops.

use serde_json::json;

use super::ObjectGenerator;
use super::namespaces::NAMESPACES;
use crate::cluster::objects::{Object, Resource};

/// The zone of the cluster.
pub const ZONE: &str = "cluster.local";

/// Names outside the cluster and their addresses in tests; a name without any does not exist.
pub const OUTSIDE: &[(&str, &[&str])] = &[
    ("ext1.example.net", &["192.0.2.101"]),
    ("ext2.example.net", &["192.0.2.102", "192.0.2.103", "2001:db8::102"]),
    ("six.example.net", &["2001:db8::106"]),
    ("deep.er.example.net", &["192.0.2.104"]),
    ("many.example.net", &["192.0.2.110", "192.0.2.111", "192.0.2.112", "192.0.2.113", "192.0.2.114"]),
    ("missing.example.net", &[]),
    ("single", &["192.0.2.105"]),
];

/// Longer than the chains of ten names that CoreDNS follows.
const CHAIN: usize = 12;

impl ObjectGenerator {
    /// The target of an ExternalName Service in `namespace`.
    pub(super) fn external_name(&mut self, namespace: &str) -> String {
        let outside = self.random.pick(OUTSIDE).0;
        let some = self.known_service(namespace);
        let n = self.counter;
        match self.random.below(16) {
            0..=5 => outside.to_owned(),
            6 => format!("{outside}."),
            7..=9 => format!("{some}.svc.{ZONE}"),
            10 => format!("nosuch-{n}.{namespace}.svc.{ZONE}"),
            11 => format!("10-244-0-1.{some}.svc.{ZONE}"),
            12 => self
                .random
                .pick(&["cluster.local", "svc.cluster.local", "dns-version.cluster.local"])
                .to_string(),
            // An address instead of a name, which the API accepts.
            13 => self.random.pick(&["192.0.2.9", "10.96.0.1"]).to_string(),
            14 => format!("10-244-0-1.{namespace}.pod.{ZONE}"),
            _ => format!("{}.example.net", ["long"; 40].join(".")),
        }
    }

    /// `name.namespace` of a Service generated before, possibly in another namespace.
    fn known_service(&mut self, namespace: &str) -> String {
        let known: Vec<String> = self
            .taken
            .iter()
            .filter(|(resource, ..)| *resource == Resource::Service)
            .map(|(_, namespace, name)| format!("{name}.{namespace}"))
            .collect();
        if known.is_empty() { format!("self.{namespace}") } else { self.random.pick(&known).clone() }
    }

    /// Chains that end in each kind of target, one after twelve names, and loops of one, two and three names.
    pub(super) fn chains(&mut self) -> Vec<Object> {
        let mut services = Vec::new();
        let inside = |name: &str, namespace: &str| format!("{name}.{namespace}.svc.{ZONE}");
        let known: Vec<String> = (0..3).map(|_| self.known_service("shop")).collect();
        let mut ends: Vec<String> = known.iter().map(|some| format!("{some}.svc.{ZONE}")).collect();
        ends.extend(
            ["ext2.example.net", "missing.example.net", "nosuch.shop.svc.cluster.local"].map(String::from),
        );
        for (c, end) in ends.iter().enumerate() {
            // Through several namespaces, so that options which exclude one of them cut the chain.
            let place = |i: usize| NAMESPACES[(c + i / 4) % 4];
            for i in 0..CHAIN {
                let target = match i {
                    0 => end.clone(),
                    _ => inside(&format!("chain-{c}-{}", i - 1), place(i - 1)),
                };
                services.push(self.external(place(i), &format!("chain-{c}-{i}"), &target));
            }
        }
        services.push(self.external("shop", "self", &inside("self", "shop")));
        for (name, next) in
            [("ring-a", "ring-b"), ("ring-b", "ring-c"), ("ring-c", "ring-a"), ("into-ring", "ring-b")]
        {
            services.push(self.external("shop", name, &inside(next, "shop")));
        }
        services
    }

    fn external(&mut self, namespace: &str, name: &str, target: &str) -> Object {
        self.reserve(Resource::Service, namespace, name);
        let body = json!({
            "metadata": {"name": name, "labels": self.labels()},
            "spec": {"type": "ExternalName", "externalName": target},
        });
        Object::new(Resource::Service, namespace, name, body)
    }
}
