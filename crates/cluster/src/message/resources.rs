//! Where the API has the resources of the index.

use kube_api::message::AnnotatedObject;
use kube_api::{Encoding, ObjectMeta, RawObject, Resource};

use super::{EndpointSlice, Namespace, Pod, Service, ServiceImport};
use crate::watch::TriggerTime;

const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// A slice, and when the change that it shows began.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggeredSlice {
    pub slice: EndpointSlice,
    pub(crate) trigger_time: Option<TriggerTime>,
}

impl Resource for TriggeredSlice {
    const GROUP: &'static str = "discovery.k8s.io";
    const VERSIONS: &'static [&'static str] = &["v1"];
    const KIND: &'static str = "EndpointSlice";
    const PLURAL: &'static str = "endpointslices";
    const ENCODING: Encoding = Encoding::Protobuf;

    fn decode(object: &RawObject) -> Result<Self, String> {
        let annotated: AnnotatedObject = object.message()?;
        let trigger_time = annotated.annotation(TRIGGER_TIME).and_then(TriggerTime::parse);
        Ok(Self { slice: object.message()?, trigger_time })
    }

    fn meta(&self) -> &ObjectMeta {
        &self.slice.metadata
    }
}

impl Resource for Namespace {
    const GROUP: &'static str = "";
    const VERSIONS: &'static [&'static str] = &["v1"];
    const KIND: &'static str = "Namespace";
    const PLURAL: &'static str = "namespaces";
    const ENCODING: Encoding = Encoding::Protobuf;

    fn decode(object: &RawObject) -> Result<Self, String> {
        object.message()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for Service {
    const GROUP: &'static str = "";
    const VERSIONS: &'static [&'static str] = &["v1"];
    const KIND: &'static str = "Service";
    const PLURAL: &'static str = "services";
    const ENCODING: Encoding = Encoding::Protobuf;

    fn decode(object: &RawObject) -> Result<Self, String> {
        let service: Self = object.message()?;
        #[cfg(test)]
        crate::poison::panic_if_message_poisoned(crate::poison::IN_DECODE, &service);
        Ok(service)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for Pod {
    const GROUP: &'static str = "";
    const VERSIONS: &'static [&'static str] = &["v1"];
    const KIND: &'static str = "Pod";
    const PLURAL: &'static str = "pods";
    const ENCODING: Encoding = Encoding::Protobuf;

    fn decode(object: &RawObject) -> Result<Self, String> {
        object.message()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}

impl Resource for ServiceImport {
    const GROUP: &'static str = "multicluster.x-k8s.io";
    const VERSIONS: &'static [&'static str] = &["v1beta1", "v1alpha1"];
    const KIND: &'static str = "ServiceImport";
    const PLURAL: &'static str = "serviceimports";
    const ENCODING: Encoding = Encoding::Json;

    fn decode(object: &RawObject) -> Result<Self, String> {
        object.json()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
}
