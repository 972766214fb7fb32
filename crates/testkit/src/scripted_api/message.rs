//! Protobuf messages of the Kubernetes API, with the fields that a DNS server's objects have.
//!
//! Deliberately not Rhumb's own definitions: a mistake there must not be repeated here.

use std::collections::BTreeMap;

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct ObjectMeta {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "3")]
    pub namespace: String,
    #[prost(string, tag = "5")]
    pub uid: String,
    #[prost(string, tag = "6")]
    pub resource_version: String,
    #[prost(message, optional, tag = "8")]
    pub creation_timestamp: Option<Time>,
    #[prost(btree_map = "string, string", tag = "11")]
    pub labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "12")]
    pub annotations: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "17")]
    pub managed_fields: Vec<ManagedFields>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Time {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct ManagedFields {
    #[prost(string, tag = "1")]
    pub manager: String,
    #[prost(string, tag = "2")]
    pub operation: String,
    #[prost(string, tag = "3")]
    pub api_version: String,
    #[prost(message, optional, tag = "4")]
    pub time: Option<Time>,
    #[prost(string, tag = "6")]
    pub fields_type: String,
    #[prost(message, optional, tag = "7")]
    pub fields: Option<RawExtension>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Namespace {
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
}

#[derive(Clone, PartialEq, Message)]
pub struct Service {
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    pub spec: ServiceSpec,
}

#[derive(Clone, PartialEq, Message)]
pub struct ServiceSpec {
    #[prost(message, repeated, tag = "1")]
    pub ports: Vec<ServicePort>,
    #[prost(string, tag = "3")]
    pub cluster_ip: String,
    #[prost(string, tag = "4")]
    pub kind: String,
    #[prost(string, tag = "10")]
    pub external_name: String,
    #[prost(string, repeated, tag = "18")]
    pub cluster_ips: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ServicePort {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub protocol: String,
    #[prost(int32, tag = "3")]
    pub port: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Pod {
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
    #[prost(message, required, tag = "3")]
    pub status: PodStatus,
}

#[derive(Clone, PartialEq, Message)]
pub struct PodStatus {
    #[prost(string, tag = "1")]
    pub phase: String,
    #[prost(string, tag = "6")]
    pub pod_ip: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct EndpointSlice {
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
    #[prost(message, repeated, tag = "2")]
    pub endpoints: Vec<Endpoint>,
    #[prost(message, repeated, tag = "3")]
    pub ports: Vec<EndpointPort>,
    #[prost(string, tag = "4")]
    pub address_type: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Endpoint {
    #[prost(string, repeated, tag = "1")]
    pub addresses: Vec<String>,
    #[prost(message, required, tag = "2")]
    pub conditions: Conditions,
    #[prost(string, optional, tag = "3")]
    pub hostname: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub target_ref: Option<ObjectReference>,
    #[prost(string, optional, tag = "6")]
    pub node_name: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub zone: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Conditions {
    #[prost(bool, optional, tag = "1")]
    pub ready: Option<bool>,
    #[prost(bool, optional, tag = "2")]
    pub serving: Option<bool>,
    #[prost(bool, optional, tag = "3")]
    pub terminating: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ObjectReference {
    #[prost(string, tag = "1")]
    pub kind: String,
    #[prost(string, tag = "2")]
    pub namespace: String,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(string, tag = "4")]
    pub uid: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct EndpointPort {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub protocol: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub port: Option<i32>,
}

/// The envelope of every message, behind four octets of magic.
#[derive(Clone, PartialEq, Message)]
pub struct Unknown {
    #[prost(message, required, tag = "1")]
    pub type_meta: TypeMeta,
    #[prost(bytes = "vec", tag = "2")]
    pub raw: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TypeMeta {
    #[prost(string, tag = "1")]
    pub api_version: String,
    #[prost(string, tag = "2")]
    pub kind: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct List {
    #[prost(message, required, tag = "1")]
    pub metadata: ListMeta,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub items: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ListMeta {
    #[prost(string, tag = "2")]
    pub resource_version: String,
    /// The continue token; empty on the last page.
    #[prost(string, tag = "3")]
    pub next: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct WatchEvent {
    #[prost(string, tag = "1")]
    pub kind: String,
    #[prost(message, required, tag = "2")]
    pub object: RawExtension,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawExtension {
    #[prost(bytes = "vec", tag = "1")]
    pub raw: Vec<u8>,
}
