//! Namespaces, among them those whose names mean something else in a name.

use serde_json::json;

use super::Maker;
use crate::cluster::objects::{Object, Resource};

/// Those that are made; `default` and `kube-system` the API server makes itself. The first four hold half of
/// all. Nothing is ever put into `empty`.
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

impl Maker {
    /// With labels for selectors: `team` is red, blue or missing.
    pub(super) fn namespaces(&mut self) -> Vec<Object> {
        let names = NAMESPACES.iter().chain([&EMPTY]);
        names
            .enumerate()
            .map(|(i, name)| {
                let mut labels = self.labels();
                // In turn, so that each selector finds one whatever the seed.
                if let Some(team) = [Some("red"), Some("blue"), None][i % 3] {
                    labels["team"] = team.into();
                }
                let body = json!({"metadata": {"name": name, "labels": labels}});
                Object::new(Resource::Namespace, "", name, body)
            })
            .collect()
    }
}
