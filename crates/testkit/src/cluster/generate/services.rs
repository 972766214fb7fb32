//! Services of every type and family.

use serde_json::{Value, json};

use super::{Family, OUTSIDE, ObjectGenerator};
use crate::cluster::objects::{Object, Resource, list};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// With addresses of these families, the preferred one first.
    ClusterIp(&'static [Family]),
    NodePort,
    LoadBalancer,
    ExternalIps,
    Headless,
    HeadlessWithoutPorts,
    ExternalName,
}

use Family::{Ipv4, Ipv6};

/// All kinds, repeated by frequency.
pub const KINDS: &[Kind] = &[
    Kind::ClusterIp(&[Ipv4]),
    Kind::Headless,
    Kind::ClusterIp(&[Ipv6]),
    Kind::Headless,
    Kind::ClusterIp(&[Ipv4, Ipv6]),
    Kind::ExternalName,
    Kind::Headless,
    Kind::ClusterIp(&[Ipv6, Ipv4]),
    Kind::HeadlessWithoutPorts,
    Kind::LoadBalancer,
    Kind::Headless,
    Kind::NodePort,
    Kind::ExternalIps,
    Kind::ClusterIp(&[Ipv4]),
    Kind::ExternalName,
];

impl ObjectGenerator {
    /// A Service in any namespace, with its slices.
    pub fn service_with_slices(&mut self, kind: Kind) -> Vec<Object> {
        let namespace = self.namespace();
        let service = self.service(namespace, kind);
        let ports = service.body.pointer("/spec/ports").cloned().unwrap_or(Value::Null);
        let mut objects = self.slices_of(namespace, &service.name, &ports);
        objects.insert(0, service);
        objects
    }

    pub fn service(&mut self, namespace: &str, kind: Kind) -> Object {
        let name = self.name(Resource::Service, namespace);
        let spec = self.service_spec(namespace, kind);
        let body = json!({"metadata": {"name": name, "labels": self.labels()}, "spec": spec});
        let mut service = Object::new(Resource::Service, namespace, &name, body);
        if kind == Kind::LoadBalancer && self.random.chance(0.8) {
            service.status = Some(json!({"loadBalancer": {"ingress": self.ingress()}}));
        }
        service
    }

    /// The spec of a Service of that kind, with an unused address.
    pub fn service_spec(&mut self, namespace: &str, kind: Kind) -> Value {
        let families: &[Family] = match kind {
            Kind::ClusterIp(families) => families,
            Kind::NodePort | Kind::LoadBalancer if self.random.chance(0.5) => &[Ipv4, Ipv6],
            Kind::NodePort | Kind::LoadBalancer => &[Ipv4],
            Kind::ExternalIps => &[Ipv4],
            Kind::Headless | Kind::HeadlessWithoutPorts | Kind::ExternalName => &[],
        };
        let mut spec = match kind {
            Kind::ExternalName => {
                let mut spec = json!({"type": "ExternalName", "externalName": self.external_name(namespace)});
                if self.random.chance(0.3) {
                    spec["ports"] = self.ports();
                }
                return spec;
            }
            Kind::NodePort => json!({"type": "NodePort", "ports": self.ports()}),
            Kind::LoadBalancer => json!({"type": "LoadBalancer", "ports": self.ports()}),
            Kind::HeadlessWithoutPorts => json!({"type": "ClusterIP", "clusterIP": "None"}),
            Kind::Headless => json!({"type": "ClusterIP", "clusterIP": "None", "ports": self.ports()}),
            Kind::ClusterIp(_) | Kind::ExternalIps => json!({"type": "ClusterIP", "ports": self.ports()}),
        };
        if !families.is_empty() {
            let n = self.next_address();
            let ips: Vec<String> = families.iter().map(|family| Self::cluster_ip(n, *family)).collect();
            spec["clusterIP"] = ips[0].as_str().into();
            spec["clusterIPs"] = ips.into();
            spec["ipFamilies"] = families.iter().map(|f| f.name()).collect();
            let policy = if families.len() == 2 { "RequireDualStack" } else { "SingleStack" };
            spec["ipFamilyPolicy"] = policy.into();
        }
        let outside = match kind {
            Kind::ExternalIps => 1.0,
            Kind::LoadBalancer | Kind::Headless | Kind::HeadlessWithoutPorts => 0.2,
            Kind::ClusterIp(_) | Kind::NodePort | Kind::ExternalName => 0.0,
        };
        if self.random.chance(outside) {
            spec["externalIPs"] = json!([format!("198.51.100.{}", self.random.byte()), "2001:db8:e::1"]);
        }
        // The API server ignores it, but DNS servers used to read it.
        if list(&spec, "/ports").len() == 1 && self.random.chance(0.1) {
            spec["publishNotReadyAddresses"] = true.into();
        }
        spec
    }

    fn ingress(&mut self) -> Value {
        match self.random.below(7) {
            0 => json!([{"hostname": "lb.example.net"}]),
            1 => json!([{"ip": format!("192.0.2.{}", self.random.byte())}, {"hostname": "ext1.example.net"}]),
            2 => json!([{"ip": "2001:db8:1b::1"}, {"ip": "192.0.2.7"}]),
            3 => json!([{"hostname": "many.example.net"}, {"hostname": "six.example.net"}]),
            // Duplicates, in both families.
            4 => json!([{"ip": "192.0.2.7"}, {"ip": "192.0.2.7"}, {"ip": "2001:db8:1b::2"}]),
            5 => json!([{"hostname": self.random.pick(OUTSIDE).0}]),
            _ => json!([{"ip": format!("192.0.2.{}", self.random.byte())}]),
        }
    }
}
