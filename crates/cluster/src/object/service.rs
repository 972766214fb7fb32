use std::net::IpAddr;

use smallvec::SmallVec;

use super::Ports;
use crate::key::Key;
use crate::want::SelectorSet;

#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    pub key: Key,
    pub kind: ServiceType,
    /// Empty if it declares none: it has addresses then, but no SRV records.
    pub ports: Ports,
    /// `spec.externalIPs`, then the load balancer's addresses and host names; kept only if [`crate::Want::external`].
    pub external: Box<[External]>,
    pub selected: SelectorSet,
}

/// One address per family; a single one is stored inline.
pub type ClusterIps = SmallVec<[IpAddr; 1]>;

/// How clients in the cluster reach a Service.
#[derive(Clone, Debug, PartialEq)]
pub enum ServiceType {
    /// At its cluster IPs, one per family. Includes NodePort and LoadBalancer Services.
    ClusterIp(ClusterIps),
    /// At its endpoints.
    Headless,
    /// Under another name, as written in the Service.
    ExternalName(Box<str>),
}

/// How clients outside the cluster reach a Service.
#[derive(Clone, Debug, PartialEq)]
pub enum External {
    Address(IpAddr),
    Host(Box<str>),
}

impl Service {
    pub fn is_headless(&self) -> bool {
        matches!(self.kind, ServiceType::Headless)
    }

    /// Whether the address is one of its external addresses.
    pub fn has_external_address(&self, address: IpAddr) -> bool {
        self.external.contains(&External::Address(address))
    }

    /// Empty for headless and ExternalName Services.
    pub fn cluster_ips(&self) -> &[IpAddr] {
        match &self.kind {
            ServiceType::ClusterIp(ips) => ips,
            _ => &[],
        }
    }
}
