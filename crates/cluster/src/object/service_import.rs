use std::net::IpAddr;

use super::Ports;
use crate::key::Key;
use crate::want::Selected;

/// A Service of the whole cluster set (multicluster.x-k8s.io).
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceImport {
    pub key: Key,
    pub headless: bool,
    /// The addresses of the cluster set; none if headless.
    pub ips: Box<[IpAddr]>,
    pub ports: Ports,
    pub selected: Selected,
}
