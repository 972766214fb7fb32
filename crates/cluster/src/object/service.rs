use std::net::IpAddr;

use smallvec::SmallVec;

use super::Ports;
use crate::key::Key;
use crate::want::Selected;

/// A Service.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    pub key: Key,
    pub kind: ServiceType,
    /// Empty if it declares none: it has addresses then, but no SRV records.
    pub ports: Ports,
    /// `spec.externalIPs`, then the load balancer's addresses and host names; kept only if [`crate::Want::external`].
    pub external: Box<[External]>,
    pub selected: Selected,
}

/// One, which stands in the Service itself, or one per family.
pub type ClusterIps = SmallVec<[IpAddr; 1]>;

/// How a Service is reached from inside.
#[derive(Clone, Debug, PartialEq)]
pub enum ServiceType {
    /// At its own addresses, one per family. NodePort and LoadBalancer Services are reached so too.
    ClusterIp(ClusterIps),
    /// At its endpoints.
    Headless,
    /// Under another name; as written in the Service.
    ExternalName(Box<str>),
}

/// How a Service is reached from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum External {
    Address(IpAddr),
    Host(Box<str>),
}

impl Service {
    pub fn is_headless(&self) -> bool {
        matches!(self.kind, ServiceType::Headless)
    }

    /// Whether it is reached at the address from outside.
    pub fn has_outside(&self, address: IpAddr) -> bool {
        self.external.contains(&External::Address(address))
    }

    /// None for headless Services and those under another name.
    pub fn cluster_ips(&self) -> &[IpAddr] {
        match &self.kind {
            ServiceType::ClusterIp(ips) => ips,
            _ => &[],
        }
    }
}
