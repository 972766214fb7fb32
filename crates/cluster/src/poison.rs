//! Cluster IPs that make the code panic at a given place, to simulate a bug there.

use crate::message;
use crate::object::{Object, Service, ServiceType};

pub(crate) const IN_DECODE: &str = "10.66.0.2";
pub(crate) const IN_CONVERT: &str = "10.66.0.3";
pub(crate) const IN_WRITER: &str = "10.66.0.4";
pub(crate) const IN_INDEX: &str = "10.66.0.5";

/// Panics if the object has the cluster IP of this place.
pub(crate) fn panic_if_message_poisoned(place: &str, service: &message::Service) {
    assert!(service.spec.cluster_ip != place, "poisoned");
}

pub(crate) fn panic_if_object_poisoned(place: &str, object: &Object) {
    if let Object::Service(service) = object {
        panic_if_service_poisoned(place, service);
    }
}

pub(crate) fn panic_if_service_poisoned(place: &str, service: &Service) {
    if let ServiceType::ClusterIp(ips) = &service.kind {
        assert!(ips.iter().all(|ip| ip.to_string() != place), "poisoned");
    }
}
