//! The cluster as API objects.

use std::net::IpAddr;

use serde_json::{Value, json};
use testkit::cluster::objects::{Object, Resource};

use super::service::{SERVICES, Service, namespaces};

/// Namespaces, Services and one EndpointSlice for each.
pub fn objects() -> Vec<Object> {
    let mut objects: Vec<Object> = namespaces()
        .map(|name| Object::new(Resource::Namespace, "", &name, json!({"metadata": {"name": name}})))
        .collect();
    for service in (0..SERVICES).map(Service::number) {
        let (namespace, name) = (service.namespace(), service.label());
        let slice = format!("{name}-a");
        objects.push(Object::new(Resource::Service, &namespace, &name, body(&service)));
        objects.push(Object::new(Resource::EndpointSlice, &namespace, &slice, slice_body(&service, &slice)));
    }
    objects
}

fn body(service: &Service) -> Value {
    let mut spec = json!({
        "selector": {"app": service.label()},
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
    });
    if service.headless() {
        spec["clusterIP"] = json!("None");
    } else {
        let addresses = service.addresses();
        let family = |address: &IpAddr| if address.is_ipv4() { "IPv4" } else { "IPv6" };
        spec["clusterIPs"] = json!(addresses);
        spec["clusterIP"] = json!(addresses.first());
        spec["ipFamilies"] = json!(addresses.iter().map(family).collect::<Vec<_>>());
        spec["ipFamilyPolicy"] = json!(if addresses.len() == 2 { "RequireDualStack" } else { "SingleStack" });
    }
    json!({"metadata": {"name": service.label()}, "spec": spec})
}

fn slice_body(service: &Service, name: &str) -> Value {
    let endpoints: Vec<Value> = service
        .endpoints()
        .map(|address| json!({"addresses": [address], "conditions": {"ready": true}}))
        .collect();
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service.label()}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
        "endpoints": endpoints,
    })
}
