//! Group multicluster.x-k8s.io: v1alpha1 and v1beta1, which agree on these fields. JSON only.

use kube_api::ObjectMeta;
use kube_api::message::nullable;
use serde::Deserialize;

use super::core::ServicePort;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ServiceImport {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: ServiceImportSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ServiceImportSpec {
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    #[serde(deserialize_with = "nullable")]
    pub ips: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    pub ports: Vec<ServicePort>,
}
