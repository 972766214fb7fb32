//! What it costs to take in an EndpointSlice, from its bytes to the index.

use std::time::Instant;

use bytes::Bytes;
use prost::Message;
use serde_json::json;

use super::server::encode;
use crate::api::convert;
use crate::api::decode::{Encoding, Event};
use crate::api::message::{Raw, WatchEvent};
use crate::index::{Change, Index};
use crate::object::Kind;
use crate::want::Want;

const SLICES: u32 = 20_000;

fn event(n: u32, endpoints: u32) -> Bytes {
    let endpoint = |m: u32| {
        let at = format!("10.{}.{}.{m}", n >> 8 & 0xff, n & 0xff);
        json!({"addresses": [at], "conditions": {"ready": true}, "zone": "eu-1a",
               "targetRef": {"kind": "Pod", "name": format!("web-{n}-7d5f5d7b9c-{m:05}")}})
    };
    let slice = json!({
        "metadata": {"name": format!("web-{n}-abcde"), "namespace": format!("ns-{}", n % 100), "resourceVersion": "7",
                     "labels": {"kubernetes.io/service-name": format!("web-{n}"),
                                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}},
        "endpoints": (0..endpoints).map(endpoint).collect::<Vec<_>>(),
        "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
    });
    let raw = Raw::deserialize(Kind::EndpointSlice, slice).unwrap();
    WatchEvent::new("ADDED", encode(&raw)).encode_to_vec().into()
}

#[test]
#[ignore = "measures, and asserts nothing"]
fn speed_of_events() {
    for endpoints in [1, 3, 100] {
        let events: Vec<Bytes> = (0..SLICES.min(600_000 / endpoints)).map(|n| event(n, endpoints)).collect();
        for want in [Want::default(), Want { pod_names: true, zones: true, ..Want::default() }] {
            let begun = Instant::now();
            let mut objects = Vec::new();
            for event in &events {
                let decoded = Event::decode(Kind::EndpointSlice, Encoding::Protobuf, event.clone());
                let Ok(Event::Applied { raw, .. }) = decoded else { panic!("an event") };
                objects.push(convert::object(raw, &want).unwrap());
            }
            let decoded = begun.elapsed();
            let begun = Instant::now();
            let mut index = Index::new();
            for object in objects {
                index.apply(Change::Apply(object), 1);
            }
            let n = u32::try_from(events.len()).unwrap();
            let (decoded, indexed) = (decoded / n, begun.elapsed() / n);
            println!(
                "{endpoints} endpoints, pod names {}: {decoded:?} decoded, {indexed:?} indexed",
                want.pod_names
            );
        }
    }
}
