//! Each case is an object as JSON. It is decoded from JSON and from protobuf, with the same result.

use std::net::IpAddr;

use prost::Message;
use serde_json::{Value, json};

use super::*;
use crate::object::{Details, EndpointSlice, ImportOrigin, Kind};

fn read(kind: Kind, json: &Value) -> ApiObject {
    let raw = ApiObject::deserialize(kind, json.clone()).unwrap_or_else(|e| panic!("{json}: {e}"));
    let encoded = match &raw {
        ApiObject::Namespace(it) => ApiObject::Namespace(Message::decode(&*it.encode_to_vec()).unwrap()),
        ApiObject::Service(it) => ApiObject::Service(Message::decode(&*it.encode_to_vec()).unwrap()),
        ApiObject::EndpointSlice(it) => {
            ApiObject::EndpointSlice(Message::decode(&*it.encode_to_vec()).unwrap())
        }
        ApiObject::Pod(it) => ApiObject::Pod(Message::decode(&*it.encode_to_vec()).unwrap()),
        ApiObject::ServiceImport(_) => return raw,
    };
    assert_eq!(encoded, raw, "{json}");
    raw
}

fn convert(kind: Kind, json: &Value, want: &Want) -> Object {
    object(&read(kind, json), want).unwrap_or_else(|| panic!("{json} is an object"))
}

fn all() -> Want {
    Want { pod_names: true, zones: true, pod_labels: true, external: true, ..Want::default() }
}

fn selecting(selectors: &[&str]) -> Vec<Selector> {
    selectors.iter().map(|text| Selector::parse(text).unwrap()).collect()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn addresses(texts: &[&str]) -> Box<[IpAddr]> {
    texts.iter().map(|text| address(text)).collect()
}

fn key(text: &str) -> Key {
    let (namespace, name) = text.split_once('/').unwrap();
    Key::new(namespace, name).unwrap()
}

fn named(name: &str) -> Value {
    json!({"name": name, "namespace": "shop", "uid": "ignored", "managedFields": [{"fieldsV1": {"f:spec": {}}}]})
}

#[test]
fn service_types() {
    let check = |spec: Value, kind: ServiceType| {
        let json = json!({"metadata": named("web"), "spec": spec});
        let Object::Service(service) = convert(Kind::Service, &json, &all()) else { panic!("{json}") };
        assert_eq!((service.key, service.kind), (key("shop/web"), kind), "{json}");
    };
    let at = |texts: &[&str]| ServiceType::ClusterIp(addresses(texts).into_vec().into());
    check(
        json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1"]}),
        at(&["10.0.0.1", "fd00::1"]),
    );
    check(json!({"clusterIP": "10.0.0.1"}), at(&["10.0.0.1"]));
    check(json!({"clusterIP": "10.0.0.1", "type": "LoadBalancer"}), at(&["10.0.0.1"]));
    check(json!({"clusterIP": "10.0.0.1", "clusterIPs": null}), at(&["10.0.0.1"]));
    check(json!({}), at(&[]));
    check(json!(null), at(&[]));
    check(json!({"clusterIPs": ["of no", "10.0.0.2"]}), at(&["10.0.0.2"]));
    check(json!({"clusterIP": "None"}), ServiceType::Headless);
    check(json!({"clusterIP": "None", "clusterIPs": ["None"]}), ServiceType::Headless);
    let elsewhere = ServiceType::ExternalName("Example.COM.".into());
    check(json!({"type": "ExternalName", "externalName": "Example.COM."}), elsewhere);
}

#[test]
fn ports() {
    let check = |port: Value, name: &str, protocol: &str, number: Option<u16>| {
        let expected = Port { name: name.into(), protocol: protocol.into(), number };
        let json = json!({"metadata": named("web"), "spec": {"ports": [port]}});
        let Object::Service(service) = convert(Kind::Service, &json, &all()) else { panic!("{json}") };
        assert_eq!(*service.ports, *std::slice::from_ref(&expected), "{json}");
        let json = json!({"metadata": named("web"), "ports": [port]});
        let Object::EndpointSlice(slice) = convert(Kind::EndpointSlice, &json, &all()) else {
            panic!("{json}")
        };
        assert_eq!(*slice.ports, [expected], "{json}");
    };
    check(
        json!({"name": "http", "protocol": "TCP", "port": 80, "targetPort": "web"}),
        "http",
        "TCP",
        Some(80),
    );
    check(json!({"port": 65535}), "", "", Some(65535));
    check(json!({"name": "any", "protocol": "UDP"}), "any", "UDP", None);
    check(json!({"name": null, "port": null}), "", "", None);
    check(json!({"port": 65536}), "", "", None);
    check(json!({"port": -1}), "", "", None);
}

#[test]
fn external_addresses_come_before_those_of_the_load_balancer() {
    let json = json!({
        "metadata": named("web"),
        "spec": {"clusterIP": "10.0.0.1", "externalIPs": ["192.0.2.1", "fd00::2"]},
        "status": {"loadBalancer": {"ingress": [
            {"ip": "192.0.2.3", "hostname": "not.used"},
            {"hostname": "lb.example.com"},
            {},
        ]}},
    });
    let Object::Service(service) = convert(Kind::Service, &json, &all()) else { panic!("{json}") };
    let expected = [
        External::Address(address("192.0.2.1")),
        External::Address(address("fd00::2")),
        External::Address(address("192.0.2.3")),
        External::Host("lb.example.com".into()),
    ];
    assert_eq!(*service.external, expected);
    let Object::Service(service) = convert(Kind::Service, &json, &Want::default()) else { panic!("{json}") };
    assert!(service.external.is_empty(), "not wanted");
}

fn slice(endpoints: Value, labels: Value, want: &Want) -> EndpointSlice {
    let json = json!({
        "metadata": {"name": "web-1", "namespace": "shop", "labels": labels},
        "addressType": "IPv4",
        "endpoints": endpoints,
    });
    let Object::EndpointSlice(slice) = convert(Kind::EndpointSlice, &json, want) else { panic!("{json}") };
    slice
}

#[test]
fn ready_endpoints() {
    let check = |endpoint: Value, expected: &[&str]| {
        let got = slice(json!([endpoint]), json!({}), &all());
        let got: Vec<String> = got.endpoints.iter().map(|it| it.address.to_string()).collect();
        assert_eq!(got, expected, "{endpoint}");
    };
    check(json!({"addresses": ["10.0.0.1"], "conditions": {"ready": true}}), &["10.0.0.1"]);
    check(json!({"addresses": ["10.0.0.1"], "conditions": {"ready": false, "serving": true}}), &[]);
    check(json!({"addresses": ["10.0.0.1"], "conditions": {"ready": null}}), &["10.0.0.1"]);
    check(json!({"addresses": ["10.0.0.1"], "conditions": {"terminating": true}}), &["10.0.0.1"]);
    check(json!({"addresses": ["10.0.0.1"]}), &["10.0.0.1"]);
    check(json!({"addresses": ["10.0.0.1", "10.0.0.2"]}), &["10.0.0.1", "10.0.0.2"]);
    check(json!({"addresses": ["web.example.com", "10.0.0.300", ""]}), &[]);
    check(json!({"addresses": null}), &[]);
}

#[test]
fn endpoints_keep_what_is_wanted() {
    let long = "p".repeat(64);
    let given = json!([
        {"addresses": ["10.0.0.1", "FD00::1"], "hostname": "a", "zone": "EU-1a",
         "targetRef": {"kind": "Pod", "name": &long[..63]}},
        {"addresses": ["10.0.0.2"], "hostname": "", "zone": "eu-1A", "targetRef": {"kind": "Pod", "name": long}},
    ]);
    let endpoint =
        |at: &str, spelling: Option<&str>, hostname: Option<&str>, pod: Option<&str>, zone: Option<&str>| {
            let details = Details {
                spelling: spelling.map(Into::into),
                hostname: hostname.map(Into::into),
                pod: pod.map(Into::into),
                zone: zone.map(Into::into),
            };
            (address(at), details)
        };
    let (a, pod, zone) = (Some("a"), Some(&long[..63]), Some("eu-1a"));
    let got = slice(given.clone(), json!({}), &all());
    let expected = [
        endpoint("10.0.0.1", None, a, pod, zone),
        endpoint("fd00::1", Some("FD00::1"), a, pod, zone),
        endpoint("10.0.0.2", None, None, None, zone),
    ];
    assert_eq!(got.endpoints, expected.into_iter().collect());
    let got = slice(given, json!({}), &Want::default());
    let expected = [
        endpoint("10.0.0.1", None, a, None, None),
        endpoint("fd00::1", Some("FD00::1"), a, None, None),
        endpoint("10.0.0.2", None, None, None, None),
    ];
    assert_eq!(got.endpoints, expected.into_iter().collect());
}

#[test]
fn owners_of_slices() {
    let check = |labels: Value, service: Option<&str>, imported: Option<(&str, &str)>| {
        let got = slice(json!([]), labels.clone(), &all());
        let imported = imported
            .map(|(service, cluster)| ImportOrigin { service: key(service), cluster: cluster.into() });
        assert_eq!((got.service, got.imported), (service.map(key), imported.map(Box::new)), "{labels}");
    };
    check(json!({"kubernetes.io/service-name": "web"}), Some("shop/web"), None);
    check(json!({"app": "web"}), None, None);
    check(json!({"kubernetes.io/service-name": ""}), None, None);
    check(json!({"multicluster.kubernetes.io/service-name": "web"}), None, Some(("shop/web", "")));
    check(
        json!({
            "kubernetes.io/service-name": "derived-1",
            "multicluster.kubernetes.io/service-name": "web",
            "multicluster.kubernetes.io/source-cluster": "east",
        }),
        Some("shop/derived-1"),
        Some(("shop/web", "east")),
    );
}

#[test]
fn pods() {
    let json = json!({
        "metadata": {"name": "web-1", "namespace": "shop", "labels": {"app": "web", "empty": null}},
        "spec": {"nodeName": "n1"},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}, {}]},
    });
    let Object::Pod(pod) = convert(Kind::Pod, &json, &all()) else { panic!("{json}") };
    assert_eq!(pod.ips, addresses(&["10.0.0.1", "fd00::1"]));
    assert_eq!(*pod.labels, [("app".into(), "web".into()), ("empty".into(), "".into())]);
    let Object::Pod(pod) = convert(Kind::Pod, &json, &Want::default()) else { panic!("{json}") };
    assert!(pod.labels.is_empty());
    let raw = read(Kind::Pod, &json);
    assert!(!is_terminating(&raw) && !has_ended(&raw));

    let check = |metadata: Value, status: Value, terminating: bool, ended: bool| {
        let raw = read(Kind::Pod, &json!({"metadata": metadata, "status": status}));
        assert_eq!((is_terminating(&raw), has_ended(&raw)), (terminating, ended), "{metadata} {status}");
    };
    check(json!({"deletionTimestamp": "2026-11-15T12:00:00Z"}), json!({}), true, false);
    check(json!({"deletionTimestamp": null}), json!({"phase": "Pending"}), false, false);
    for phase in ["Succeeded", "Failed", "Unknown"] {
        check(json!({}), json!({"phase": phase}), false, true);
    }
}

#[test]
fn service_imports() {
    let json = json!({
        "metadata": named("web"),
        "spec": {"type": "ClusterSetIP", "ips": ["10.9.0.1"], "ports": [{"name": "http", "protocol": "TCP", "port": 80}]},
    });
    let Object::ServiceImport(import) = convert(Kind::ServiceImport, &json, &all()) else { panic!("{json}") };
    assert_eq!((import.headless, import.ips), (false, addresses(&["10.9.0.1"])));
    assert_eq!(*import.ports, [Port { name: "http".into(), protocol: "TCP".into(), number: Some(80) }]);
    let json = json!({"metadata": named("web"), "spec": {"type": "Headless"}});
    let Object::ServiceImport(import) = convert(Kind::ServiceImport, &json, &all()) else { panic!("{json}") };
    assert!(import.headless && import.ips.is_empty());
}

#[test]
fn selectors_become_bits() {
    let want = Want {
        selectors: selecting(&["app=web", "tier", "app!=web"]),
        namespace_selectors: selecting(&["team in (a, b)"]),
        ..Want::default()
    };
    let labelled =
        |labels: Value| json!({"metadata": {"name": "web", "namespace": "shop", "labels": labels}});
    let check = |labels: Value, bits: u32| {
        for kind in [Kind::Service, Kind::EndpointSlice, Kind::Pod, Kind::ServiceImport] {
            let got = match convert(kind, &labelled(labels.clone()), &want) {
                Object::Service(it) => it.selected,
                Object::EndpointSlice(it) => it.selected,
                Object::Pod(it) => it.selected,
                Object::ServiceImport(it) => it.selected,
                Object::Namespace(it) => it.selected,
            };
            assert_eq!(got, SelectorSet(bits), "{kind:?} {labels}");
        }
    };
    check(json!({"app": "web", "tier": "x"}), 0b011);
    check(json!({"app": "web"}), 0b001);
    check(json!({}), 0b100);
    let Object::Namespace(it) = convert(Kind::Namespace, &labelled(json!({"team": "b"})), &want) else {
        panic!()
    };
    assert_eq!((&*it.name, it.selected), ("web", SelectorSet(1)));
}

#[test]
fn objects_without_a_name_are_dropped() {
    for json in [json!({}), json!({"metadata": {"name": "web"}}), json!({"metadata": {"namespace": "shop"}})]
    {
        assert_eq!(object(&read(Kind::Service, &json), &all()), None, "{json}");
    }
}

#[test]
fn an_address_is_in_one_zone() {
    let json = json!({"metadata": named("web-1"), "addressType": "IPv4", "endpoints": [
        {"addresses": ["10.0.0.1"], "zone": "a"},
        {"addresses": ["10.0.0.2"], "zone": "a"},
        {"addresses": ["10.0.0.1"], "zone": "b"},
        {"addresses": ["10.0.0.1"]},
    ]});
    let Object::EndpointSlice(slice) = convert(Kind::EndpointSlice, &json, &all()) else { panic!("{json}") };
    let zones: Vec<&str> = slice.endpoints.iter().filter_map(|endpoint| endpoint.zone()).collect();
    assert_eq!(zones, ["b", "a", "b", "b"]);
}
