//! Group discovery.k8s.io, version v1.

use kube_api::ObjectMeta;
use kube_api::message::nullable;
use prost::Message;
use serde::Deserialize;

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct EndpointSlice {
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub endpoints: Vec<Endpoint>,
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub ports: Vec<EndpointPort>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Endpoint {
    #[prost(string, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub addresses: Vec<String>,
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub conditions: EndpointConditions,
    #[prost(string, optional, tag = "3")]
    pub hostname: Option<String>,
    #[prost(message, optional, tag = "4")]
    pub target_ref: Option<ObjectReference>,
    #[prost(string, optional, tag = "7")]
    pub zone: Option<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct EndpointConditions {
    #[prost(bool, optional, tag = "1")]
    pub ready: Option<bool>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct ObjectReference {
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct EndpointPort {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub protocol: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub port: Option<i32>,
}
