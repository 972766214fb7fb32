//! Namespaces, some of them named like other parts of a DNS name.

use serde_json::json;

use super::ObjectGenerator;
use crate::cluster::objects::{Object, Resource};

/// The generated namespaces; the API server creates `default` and `kube-system` itself. The first four have half
/// of all objects; `empty` has none.
pub const NAMESPACES: &[&str] = &[
    "shop",
    "team-a",
    "prod",
    "svc",
    "pod",
    "dns",
    "any",
    "team-b",
    "staging",
    "7",
    "x",
    "cluster",
    "a-namespace-whose-name-is-as-long-as-any-label-in-the-dns-may-b",
];

pub(super) const EMPTY: &str = "empty";

impl ObjectGenerator {
    /// With labels for selectors: `team` is red, blue or missing.
    pub(super) fn namespaces(&mut self) -> Vec<Object> {
        let names = NAMESPACES.iter().chain([&EMPTY]);
        names
            .enumerate()
            .map(|(i, name)| {
                let mut labels = self.labels();
                // In turn, so that each selector matches one with any seed.
                if let Some(team) = [Some("red"), Some("blue"), None][i % 3] {
                    labels["team"] = team.into();
                }
                let body = json!({"metadata": {"name": name, "labels": labels}});
                Object::new(Resource::Namespace, "", name, body)
            })
            .collect()
    }
}
