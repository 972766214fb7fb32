//! One Service: its objects and its expected answers.

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use testkit::cluster::objects::{Object, Resource};

use crate::probe::{Probe, Type};

pub const ZONE: &str = "svc.cluster.local";

/// The default of the EndpointSlice controller.
const PER_SLICE: u32 = 100;

const PORT: u16 = 80;
const TARGET_PORT: u16 = 8080;

#[derive(Clone, Debug)]
pub struct Service {
    pub namespace: String,
    pub name: String,
    pub headless: bool,
    /// Its number among all Services.
    pub number: u32,
    /// The number of its first endpoint among all endpoints.
    pub first: u32,
    pub endpoints: u32,
}

impl Service {
    pub fn objects(&self) -> Vec<Object> {
        let mut objects = vec![self.service()];
        objects.extend((0..self.endpoints.div_ceil(PER_SLICE)).map(|n| self.slice(n, 0)));
        objects
    }

    fn service(&self) -> Object {
        let cluster_ip = if self.headless { "None".to_owned() } else { self.cluster_ip().to_string() };
        let body = json!({
            "metadata": {"name": self.name, "labels": {"app": self.name}},
            "spec": {
                "clusterIP": cluster_ip,
                "selector": {"app": self.name},
                "ports": [{"name": "http", "protocol": "TCP", "port": PORT, "targetPort": TARGET_PORT}],
            },
        });
        Object::new(Resource::Service, &self.namespace, &self.name, body)
    }

    /// One of its slices; `shift` moves its first endpoint to another address.
    pub fn slice(&self, n: u32, shift: u32) -> Object {
        let name = format!("{}-{n:03}", self.name);
        let (from, to) = (n * PER_SLICE, self.endpoints.min((n + 1) * PER_SLICE));
        let endpoints: Vec<Value> =
            (from..to).map(|n| self.endpoint(n, if n == from { shift } else { 0 })).collect();
        let body = json!({
            "metadata": {
                "name": name,
                "labels": {
                    "app": self.name,
                    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                    "kubernetes.io/service-name": self.name,
                },
            },
            "addressType": "IPv4",
            "endpoints": endpoints,
            "ports": [{"name": "http", "protocol": "TCP", "port": TARGET_PORT}],
        });
        Object::new(Resource::EndpointSlice, &self.namespace, &name, body)
    }

    fn endpoint(&self, n: u32, shift: u32) -> Value {
        let number = self.first + n;
        let address = match shift {
            0 => address(number),
            // Beyond all assigned addresses.
            shift => address(0x40_0000 + (number + shift) % 0x10_0000),
        };
        let mut endpoint = json!({
            "addresses": [address],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "nodeName": format!("node-{:04}.example.internal", number % 1000),
            "targetRef": {
                "kind": "Pod",
                "namespace": self.namespace,
                "name": format!("{}-7d9c5b8f64-{n:05}", self.name),
                "uid": format!("{number:08x}-0000-4000-8000-000000000000"),
            },
            "zone": format!("zone-{}", number % 3),
        });
        if self.headless {
            endpoint["hostname"] = self.hostname(n).into();
        }
        endpoint
    }

    fn hostname(&self, n: u32) -> String {
        format!("{}-{n}", self.name)
    }

    /// Skips the first 256, for the cluster's own Services.
    fn cluster_ip(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 96, 1, 0)) + self.number)
    }

    pub fn domain(&self) -> String {
        format!("{}.{}.{ZONE}.", self.name, self.namespace)
    }

    fn host(&self, n: u32) -> String {
        format!("{}.{}", self.hostname(n), self.domain())
    }

    /// Questions and their complete answers, which cover all of this Service.
    pub fn probes(&self) -> Vec<Probe> {
        let domain = self.domain();
        let srv = format!("_http._tcp.{domain}");
        let last = self.endpoints - 1;
        if !self.headless {
            return vec![
                Probe::new(&domain, Type::A, [self.cluster_ip().to_string()]),
                Probe::new(&srv, Type::Srv, [format!("{PORT} {domain}")]),
                Probe::new(&reverse(self.cluster_ip()), Type::Ptr, [domain.clone()]),
            ];
        }
        let mut probes: Vec<Probe> = [0, last]
            .map(|n| Probe::new(&self.host(n), Type::A, [address(self.first + n).to_string()]))
            .into();
        probes.push(Probe::new(&reverse(address(self.first + last)), Type::Ptr, [self.host(last)]));
        // More do not fit in a message.
        if self.endpoints <= PER_SLICE {
            let addresses = (0..self.endpoints).map(|n| address(self.first + n).to_string());
            probes.push(Probe::new(&domain, Type::A, addresses));
            let hosts = (0..self.endpoints).map(|n| format!("{TARGET_PORT} {}", self.host(n)));
            probes.push(Probe::new(&srv, Type::Srv, hosts));
        }
        probes
    }
}

fn address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 128, 0, 0)) + number)
}

fn reverse(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    format!("{d}.{c}.{b}.{a}.in-addr.arpa.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_match_the_objects() {
        let service = |headless, endpoints| Service {
            namespace: "team-000".into(),
            name: "db".into(),
            headless,
            number: 7,
            first: 300,
            endpoints,
        };
        let count =
            |service: &Service| service.probes().iter().map(|probe| probe.answer.len()).collect::<Vec<_>>();
        for (service, expected) in [
            (service(false, 2), vec![1, 1, 1]),
            (service(true, 3), vec![1, 1, 1, 3, 3]),
            (service(true, 5_000), vec![1, 1, 1]),
        ] {
            assert_eq!(count(&service), expected);
        }
        let shown: Vec<String> = service(true, 2).probes().iter().map(ToString::to_string).collect();
        assert_eq!(shown[1], "db-1.db.team-000.svc.cluster.local. A {\"10.128.1.45\"}");
        assert_eq!(shown[2], "45.1.128.10.in-addr.arpa. PTR {\"db-1.db.team-000.svc.cluster.local.\"}");
        let moved = service(true, 2).slice(0, 5).body;
        assert_eq!(moved["endpoints"][0]["addresses"][0], "10.192.1.49");
        assert_eq!(moved["endpoints"][1]["addresses"][0], "10.128.1.45");
    }
}
