//! EndpointSlices: none, one or several per Service, and some without a Service.

use serde_json::{Value, json};

use super::addresses::Place;
use super::{Family, ObjectGenerator};
use crate::cluster::objects::{Object, Resource};

/// Topology zones of endpoints; their names may hold dots and any case.
pub const ZONES: &[&str] = &["zone-a", "zone-b", "Zone-C", "corp.example.com", "eu.West-1a", "pin"];

/// The label with the name of the Service.
const SERVICE: &str = "kubernetes.io/service-name";

/// A host name instead of an address. No test queries it, so that no cache has it.
const HOST: &str = "slice.example.net";

const HOSTNAMES: [&str; 7] = ["db-0", "db-1", "db-2", "a", "10-244-0-1", "0", "_"];

impl ObjectGenerator {
    pub(super) fn slices_of(&mut self, namespace: &str, service: &str, ports: &Value) -> Vec<Object> {
        let count = *self.random.weighted(&[(2, 0), (6, 1), (4, 2), (2, 3), (1, 4)]);
        (0..count).map(|_| self.slice(namespace, &[(SERVICE, service)], ports)).collect()
    }

    /// Slices whose Service does not exist, slices without the label, and one claimed by two.
    pub(super) fn orphan_slices(&mut self) -> Vec<Object> {
        let ports = json!([{"name": "http", "port": 80}]);
        let mut slices = Vec::new();
        for i in 0..6 {
            let namespace = self.namespace();
            let service = format!("gone-{i}");
            slices.push(self.slice(namespace, &[(SERVICE, &service)], &ports));
            slices.push(self.slice(namespace, &[], &ports));
        }
        slices.push(self.slice("shop", &[(SERVICE, "")], &ports));
        slices
    }

    /// A slice with these labels and, at random, those for selectors.
    pub fn slice(&mut self, namespace: &str, labels: &[(&str, &str)], ports: &Value) -> Object {
        self.counter += 1;
        let name = format!("slice-{}", self.counter);
        let mut all = self.labels();
        labels.iter().for_each(|(key, value)| all[*key] = (*value).into());
        let served = labels.iter().any(|(key, value)| *key == SERVICE && !value.is_empty());
        let place = if served { Place::Near } else { Place::Far };
        let kind = *self.random.weighted(&[(60, "IPv4"), (30, "IPv6"), (1, "FQDN")]);
        let mut body = json!({
            "metadata": {"name": name, "labels": all},
            "addressType": kind,
            "endpoints": self.some_endpoints(namespace, kind, place),
        });
        let ports = self.slice_ports(ports);
        if !ports.is_null() {
            body["ports"] = ports;
        }
        Object::new(Resource::EndpointSlice, namespace, &name, body)
    }

    /// The endpoints of a slice: few, none or, rarely, so many that their addresses fill a packet.
    pub fn endpoints(&mut self, namespace: &str, kind: &str) -> Value {
        self.some_endpoints(namespace, kind, Place::Near)
    }

    fn some_endpoints(&mut self, namespace: &str, kind: &str, place: Place) -> Value {
        let count = *self.random.weighted(&[(20, 0), (80, 1), (80, 2), (60, 3), (20, 6), (10, 14), (2, 45)]);
        (0..count).map(|_| self.endpoint(namespace, kind, place)).collect()
    }

    fn endpoint(&mut self, namespace: &str, kind: &str, place: Place) -> Value {
        let addresses: Vec<String> = (0..*self.random.weighted(&[(12, 1), (1, 2)]))
            .map(|_| match kind {
                "IPv4" => self.endpoint_ip(place, Family::Ipv4),
                "IPv6" => self.endpoint_ip(place, Family::Ipv6),
                _ => HOST.to_owned(),
            })
            .collect();
        let mut endpoint = json!({"addresses": addresses});
        if let Some(conditions) = self.conditions() {
            endpoint["conditions"] = conditions;
        }
        if self.random.chance(0.4) {
            let hostname = match *self.random.pick(&HOSTNAMES) {
                // Not valid as a hostname in Kubernetes: the longest label instead.
                "_" => "h".repeat(63),
                hostname => hostname.to_owned(),
            };
            endpoint["hostname"] = hostname.into();
        }
        if self.random.chance(0.6) {
            endpoint["targetRef"] = self.target(namespace);
        }
        if self.random.chance(0.6) {
            endpoint["zone"] = (*self.random.pick(ZONES)).into();
        }
        endpoint
    }

    fn conditions(&mut self) -> Option<Value> {
        Some(match self.random.below(10) {
            0 => return None,
            1 => json!({}),
            2 => json!({"ready": false, "serving": true, "terminating": true}),
            3 => json!({"ready": false}),
            4 => json!({"ready": true, "serving": false, "terminating": true}),
            5 => json!({"serving": true}),
            _ => json!({"ready": true, "serving": true, "terminating": false}),
        })
    }

    fn target(&mut self, namespace: &str) -> Value {
        let n = self.random.below(200);
        let name = match self.random.below(10) {
            0 => format!("{}-{n}", "a-pod-with-a-long-name".repeat(4)),
            // 63 octets: the longest label.
            1 => format!("{:p<60}{:03}", "exactly-one-label-", n),
            2 => format!("dotted.pod-{n}"),
            _ => format!("pod-{n}"),
        };
        let kind = *self.random.weighted(&[(20, "Pod"), (1, "Node")]);
        json!({"kind": kind, "namespace": namespace, "name": name})
    }
}
