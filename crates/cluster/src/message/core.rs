//! Group core, version v1.

use kube_api::ObjectMeta;
use kube_api::message::nullable;
use prost::Message;
use serde::Deserialize;

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct Namespace {
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct Service {
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub spec: ServiceSpec,
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub status: ServiceStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceSpec {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub ports: Vec<ServicePort>,
    #[prost(string, tag = "3")]
    #[serde(rename = "clusterIP", deserialize_with = "nullable")]
    pub cluster_ip: String,
    #[prost(string, repeated, tag = "18")]
    #[serde(rename = "clusterIPs", deserialize_with = "nullable")]
    pub cluster_ips: Vec<String>,
    #[prost(string, tag = "4")]
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    #[prost(string, repeated, tag = "5")]
    #[serde(rename = "externalIPs", deserialize_with = "nullable")]
    pub external_ips: Vec<String>,
    #[prost(string, tag = "10")]
    #[serde(deserialize_with = "nullable")]
    pub external_name: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct ServicePort {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub protocol: String,
    #[prost(int32, optional, tag = "3")]
    pub port: Option<i32>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceStatus {
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub load_balancer: LoadBalancerStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct LoadBalancerStatus {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub ingress: Vec<LoadBalancerIngress>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct LoadBalancerIngress {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub ip: String,
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub hostname: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct Pod {
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
    #[prost(message, required, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub status: PodStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct PodStatus {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub phase: String,
    #[prost(string, tag = "6")]
    #[serde(rename = "podIP", deserialize_with = "nullable")]
    pub pod_ip: String,
    #[prost(message, repeated, tag = "12")]
    #[serde(rename = "podIPs", deserialize_with = "nullable")]
    pub pod_ips: Vec<PodIp>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct PodIp {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub ip: String,
}
