//! Encodes objects in the API's protobuf: single, in lists, in events.

use std::collections::BTreeMap;

use prost::Message;
use serde_json::Value;

use super::message as m;
use crate::cluster::objects::{Object, Resource, list, text};

const MAGIC: &[u8] = b"k8s\0";

/// An arbitrary time.
const CREATED: m::Time = m::Time { seconds: 1_790_000_000 };

/// Managed fields as an API server stores them. Readers have to skip them in every object.
const FIELDS: &str = r#"{"f:addressType":{},"f:endpoints":{},"f:metadata":{"f:annotations":{".":{},"f:endpoints.kubernetes.io/last-change-trigger-time":{}},"f:generateName":{},"f:labels":{".":{},"f:endpointslice.kubernetes.io/managed-by":{},"f:kubernetes.io/service-name":{}}},"f:ports":{}}"#;

/// An object at a version, without envelope.
pub fn object(object: &Object, version: u64) -> Vec<u8> {
    let metadata = metadata(object, version);
    match object.resource {
        Resource::Service => service(metadata, &object.body).encode_to_vec(),
        Resource::EndpointSlice => slice(metadata, &object.body).encode_to_vec(),
        Resource::Pod => pod(metadata, object).encode_to_vec(),
        // ServiceImports have no protobuf; only their metadata is encoded.
        Resource::Namespace | Resource::ServiceImport => m::Namespace { metadata }.encode_to_vec(),
    }
}

/// A page of a list; `next` is the continue token.
pub fn page(resource: Resource, items: Vec<Vec<u8>>, version: u64, next: String) -> Vec<u8> {
    let metadata = m::ListMeta { resource_version: version.to_string(), next };
    envelope(resource, "List", m::List { metadata, items }.encode_to_vec())
}

/// One frame of a watch.
pub fn event(resource: Resource, kind: &str, object: Vec<u8>) -> Vec<u8> {
    let object = m::RawExtension { raw: envelope(resource, "", object) };
    let event = m::WatchEvent { kind: kind.to_owned(), object };
    let mut frame = (event.encoded_len() as u32).to_be_bytes().to_vec();
    frame.extend(event.encode_to_vec());
    frame
}

/// The bookmark that ends a streamed list at this version.
pub fn end_of_list(resource: Resource, version: u64) -> Vec<u8> {
    let metadata = m::ObjectMeta {
        resource_version: version.to_string(),
        annotations: [("k8s.io/initial-events-end".to_owned(), "true".to_owned())].into(),
        ..m::ObjectMeta::default()
    };
    event(resource, "BOOKMARK", m::Namespace { metadata }.encode_to_vec())
}

fn envelope(resource: Resource, suffix: &str, raw: Vec<u8>) -> Vec<u8> {
    let type_meta = m::TypeMeta {
        api_version: resource.api_version().to_owned(),
        kind: format!("{}{suffix}", resource.kind()),
    };
    let mut bytes = MAGIC.to_vec();
    bytes.extend(m::Unknown { type_meta, raw }.encode_to_vec());
    bytes
}

fn metadata(object: &Object, version: u64) -> m::ObjectMeta {
    m::ObjectMeta {
        name: object.name.clone(),
        namespace: object.namespace.clone(),
        uid: format!("{:0>8}-0000-4000-8000-000000000000", version % 100_000_000),
        resource_version: version.to_string(),
        creation_timestamp: Some(CREATED),
        labels: pairs(&object.body, "/metadata/labels"),
        annotations: pairs(&object.body, "/metadata/annotations"),
        managed_fields: vec![m::ManagedFields {
            manager: "scripted".to_owned(),
            operation: "Update".to_owned(),
            api_version: object.resource.api_version().to_owned(),
            time: Some(CREATED),
            fields_type: "FieldsV1".to_owned(),
            fields: Some(m::RawExtension { raw: FIELDS.into() }),
        }],
    }
}

fn service(metadata: m::ObjectMeta, body: &Value) -> m::Service {
    let cluster_ip = text(body, "/spec/clusterIP").to_owned();
    let kind = match text(body, "/spec/type") {
        "" => "ClusterIP",
        kind => kind,
    };
    m::Service {
        metadata,
        spec: m::ServiceSpec {
            ports: list(body, "/spec/ports")
                .iter()
                .map(|port| m::ServicePort {
                    name: text(port, "/name").to_owned(),
                    protocol: text(port, "/protocol").to_owned(),
                    port: number(port, "/port").unwrap_or_default(),
                })
                .collect(),
            kind: kind.to_owned(),
            external_name: text(body, "/spec/externalName").to_owned(),
            cluster_ips: if cluster_ip.is_empty() { Vec::new() } else { vec![cluster_ip.clone()] },
            cluster_ip,
        },
    }
}

fn slice(metadata: m::ObjectMeta, body: &Value) -> m::EndpointSlice {
    m::EndpointSlice {
        metadata,
        endpoints: list(body, "/endpoints").iter().map(endpoint).collect(),
        ports: list(body, "/ports")
            .iter()
            .map(|port| m::EndpointPort {
                name: optional(port, "/name"),
                protocol: optional(port, "/protocol"),
                port: number(port, "/port"),
            })
            .collect(),
        address_type: text(body, "/addressType").to_owned(),
    }
}

fn endpoint(endpoint: &Value) -> m::Endpoint {
    let condition = |name: &str| endpoint.pointer(&format!("/conditions/{name}")).and_then(Value::as_bool);
    m::Endpoint {
        addresses: list(endpoint, "/addresses").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        conditions: m::Conditions {
            ready: condition("ready"),
            serving: condition("serving"),
            terminating: condition("terminating"),
        },
        hostname: optional(endpoint, "/hostname"),
        target_ref: endpoint.get("targetRef").map(|target| m::ObjectReference {
            kind: text(target, "/kind").to_owned(),
            namespace: text(target, "/namespace").to_owned(),
            name: text(target, "/name").to_owned(),
            uid: text(target, "/uid").to_owned(),
        }),
        node_name: optional(endpoint, "/nodeName"),
        zone: optional(endpoint, "/zone"),
    }
}

fn pod(metadata: m::ObjectMeta, object: &Object) -> m::Pod {
    let said = |field: &str| object.status.as_ref().map_or("", |status| text(status, field)).to_owned();
    m::Pod { metadata, status: m::PodStatus { phase: said("/phase"), pod_ip: said("/podIP") } }
}

fn pairs(body: &Value, pointer: &str) -> BTreeMap<String, String> {
    let pairs = body.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn optional(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

fn number(value: &Value, pointer: &str) -> Option<i32> {
    value.pointer(pointer)?.as_i64()?.try_into().ok()
}
