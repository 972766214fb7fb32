//! Services of the ClusterSet: ServiceImports, and the slices of other clusters.

use serde_json::{Value, json};

use super::{Family, ObjectGenerator};
use crate::cluster::objects::{Object, Resource};

/// The source clusters of slices. Values of labels may be in upper case.
const CLUSTERS: [&str; 4] = ["east", "west", "c1", "North"];

impl ObjectGenerator {
    pub fn import_with_slices(&mut self) -> Vec<Object> {
        let namespace = self.namespace();
        let name = self.import_name(namespace);
        let import = self.import(namespace, &name);
        let ports = import.body.pointer("/spec/ports").cloned().unwrap_or(Value::Null);
        let count = *self.random.weighted(&[(1, 0), (3, 1), (3, 2), (2, 4)]);
        let mut objects = vec![import];
        for _ in 0..count {
            let mut labels = vec![("multicluster.kubernetes.io/service-name", name.as_str())];
            if self.random.chance(0.9) {
                labels.push(("multicluster.kubernetes.io/source-cluster", *self.random.pick(&CLUSTERS)));
            }
            // Some MCS implementations also attach such slices to a Service in the cluster.
            let derived = format!("derived-{name}").chars().take(63).collect::<String>();
            if self.random.chance(0.3) {
                labels.push(("kubernetes.io/service-name", &derived));
            }
            objects.push(self.slice(namespace, &labels, &ports));
        }
        objects
    }

    pub fn import(&mut self, namespace: &str, name: &str) -> Object {
        let ports = if self.random.chance(0.1) { json!([]) } else { self.ports() };
        let mut spec = json!({"type": "Headless", "ports": ports});
        if self.random.chance(0.5) {
            let n = self.next_address();
            let ips: &[Family] = match self.random.below(5) {
                0 => &[],
                1 => &[Family::Ipv6],
                2 => &[Family::Ipv4, Family::Ipv6],
                _ => &[Family::Ipv4],
            };
            spec["type"] = "ClusterSetIP".into();
            spec["ips"] = ips.iter().map(|family| Self::set_ip(n, *family)).collect();
        }
        let body = json!({
            "apiVersion": Resource::ServiceImport.api_version(),
            "kind": Resource::ServiceImport.kind(),
            "metadata": {"name": name, "labels": self.labels()},
            "spec": spec,
        });
        Object::new(Resource::ServiceImport, namespace, name, body)
    }

    /// Mostly the name of a Service in the same namespace, as if exported.
    fn import_name(&mut self, namespace: &str) -> String {
        let services: Vec<String> = self
            .taken
            .iter()
            .filter(|(resource, place, _)| *resource == Resource::Service && place == namespace)
            .map(|(.., name)| name.clone())
            .collect();
        if !services.is_empty() && self.random.chance(0.6) {
            let name = self.random.pick(&services).clone();
            if self.reserve(Resource::ServiceImport, namespace, &name) {
                return name;
            }
        }
        self.name(Resource::ServiceImport, namespace)
    }
}
