use std::net::IpAddr;

use super::Ports;
use crate::key::Key;
use crate::want::SelectorSet;

/// A Service of the whole clusterset (multicluster.x-k8s.io).
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceImport {
    pub key: Key,
    pub headless: bool,
    /// The clusterset IPs; empty if headless.
    pub ips: Box<[IpAddr]>,
    pub ports: Ports,
    pub selected: SelectorSet,
}
