//! Cluster IPs that make the code panic at a place, as if by a bug there.

use crate::api::message::Raw;
use crate::object::{Object, Service, ServiceType};

pub(crate) const IN_WATCH: &str = "10.66.0.1";
pub(crate) const IN_DECODE: &str = "10.66.0.2";
pub(crate) const IN_CONVERT: &str = "10.66.0.3";
pub(crate) const IN_WRITER: &str = "10.66.0.4";
pub(crate) const IN_INDEX: &str = "10.66.0.5";

/// Panics if it is an object that makes this place panic.
pub(crate) fn strike_raw(place: &str, raw: &Raw) {
    if let Raw::Service(service) = raw {
        assert!(service.spec.cluster_ip != place, "poisoned");
    }
}

pub(crate) fn strike_object(place: &str, object: &Object) {
    if let Object::Service(service) = object {
        strike(place, service);
    }
}

pub(crate) fn strike(place: &str, service: &Service) {
    if let ServiceType::ClusterIp(ips) = &service.kind {
        assert!(ips.iter().all(|ip| ip.to_string() != place), "poisoned");
    }
}
