//! The cluster that the document's table describes: a shop.

use serde_json::{Value, json};
use testkit::cluster::objects::{Object, Resource};

pub fn objects() -> Vec<Object> {
    let mut objects = vec![
        namespace("shop", "red"),
        namespace("bank", "blue"),
        service("shop", "web", json!({"clusterIP": "10.96.10.20", "ports": [port("http", 80)]})),
        service("shop", "db", json!({"clusterIP": "None", "ports": [port("postgres", 5432)]})),
        service("bank", "ledger", json!({"clusterIP": "10.96.10.40", "ports": [port("http", 80)]})),
        service("bank", "vpn", json!({"clusterIP": "None", "ports": [port("https", 443)]})),
        load_balancer("shop", "front", "10.96.10.30", "203.0.113.10"),
        endpoints("shop", "web", &[("web-1", "10.244.1.7")], port("http", 8080)),
        endpoints("shop", "db", &[("db-0", "10.244.1.8"), ("db-1", "10.244.2.8")], port("postgres", 5432)),
        endpoints("bank", "ledger", &[("ledger-1", "10.244.2.9")], port("http", 8080)),
        // A pod without a controller.
        endpoints("bank", "vpn", &[("", "203.0.113.80")], port("https", 443)),
    ];
    for (namespace, name, address) in [
        ("shop", "web-1", "10.244.1.7"),
        ("shop", "db-0", "10.244.1.8"),
        ("shop", "db-1", "10.244.2.8"),
        ("bank", "ledger-1", "10.244.2.9"),
    ] {
        // The pod has its loopback address as a client, see `adapt`; a duplicate has its documented address.
        objects.push(pod(namespace, name, &address.replacen("10.", "127.", 1)));
        objects.push(pod(namespace, &format!("{name}-there"), address));
    }
    objects
}

fn namespace(name: &str, team: &str) -> Object {
    let body = json!({"metadata": {"name": name, "labels": {"team": team}}});
    Object::new(Resource::Namespace, "", name, body)
}

fn service(namespace: &str, name: &str, spec: Value) -> Object {
    let body = json!({"metadata": {"name": name}, "spec": spec});
    Object::new(Resource::Service, namespace, name, body)
}

fn load_balancer(namespace: &str, name: &str, inside: &str, outside: &str) -> Object {
    let spec = json!({"type": "LoadBalancer", "clusterIP": inside, "ports": [port("https", 443)]});
    let mut service = service(namespace, name, spec);
    service.status = Some(json!({"loadBalancer": {"ingress": [{"ip": outside, "ipMode": "VIP"}]}}));
    service
}

fn port(name: &str, number: u16) -> Value {
    json!({"name": name, "port": number, "protocol": "TCP"})
}

/// The EndpointSlice of a Service's pods. Those of `db`, a StatefulSet, have host names.
fn endpoints(namespace: &str, service: &str, pods: &[(&str, &str)], port: Value) -> Object {
    let name = format!("{service}-1");
    let endpoint = |(pod, address): &(&str, &str)| {
        let hostname = (service == "db").then_some(*pod);
        let target = (!pod.is_empty()).then(|| json!({"kind": "Pod", "namespace": namespace, "name": pod}));
        json!({
            "addresses": [address],
            "conditions": {"ready": true},
            "hostname": hostname,
            "targetRef": target,
        })
    };
    let body = json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4",
        "endpoints": pods.iter().map(endpoint).collect::<Vec<_>>(),
        "ports": [port],
    });
    Object::new(Resource::EndpointSlice, namespace, &name, body)
}

fn pod(namespace: &str, name: &str, address: &str) -> Object {
    let body = json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    });
    let mut pod = Object::new(Resource::Pod, namespace, name, body);
    pod.status = Some(json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}));
    pod
}
