use std::net::IpAddr;

use crate::key::Key;
use crate::want::SelectorSet;

/// A pod that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod {
    pub key: Key,
    pub ips: Box<[IpAddr]>,
    /// Empty unless [`crate::Want::pod_labels`].
    pub labels: Box<[(Box<str>, Box<str>)]>,
    pub selected: SelectorSet,
}
