//! Pods by their address: `10-244-1-7.shop.pod`.

use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;

use cluster::object::Pod;
use cluster::{Holder, Snapshot};

use super::Kubernetes;
use super::endpoint_name::undashed;
use super::filter::is_wildcard;
use super::find::{Ask, Found};
use super::options::Pods;
use super::request::Asked;

/// What a pod's name stands for. Labels left of the address mean nothing and do no harm.
pub(super) fn find<'a>(ask: &Ask<'a>, asked: &Asked<'a>) -> Found<'a> {
    let plugin = ask.plugin;
    let any_namespace = plugin.options.wildcards && is_wildcard(asked.namespace);
    if plugin.options.pods == Pods::Disabled
        || !any_namespace && !plugin.exposes(ask.snapshot, asked.namespace)
    {
        return Found::Nothing;
    }
    if asked.name.is_empty() {
        return Found::Empty;
    }
    let Some(address) = undashed(asked.name) else {
        let any_pod = plugin.options.wildcards && is_wildcard(asked.name) && !any_namespace;
        let is_known = any_pod && plugin.options.pods == Pods::Verified;
        return if is_known { Found::Empty } else { Found::Nothing };
    };
    let pods = match plugin.options.pods {
        Pods::Verified => {
            let namespace = |name: &[u8]| {
                if any_namespace { plugin.exposes(ask.snapshot, name) } else { name == asked.namespace }
            };
            if spelt_as_usual(asked.name, address) { count(ask, address, namespace) } else { 0 }
        }
        Pods::Disabled | Pods::Insecure => 1,
    };
    match pods {
        0 => Found::Nothing,
        // IPv4 in IPv6 form is IPv4.
        pods => Found::Pod { address: address.to_canonical(), pods },
    }
}

/// How many pods of such namespaces have the address.
fn count(ask: &Ask<'_>, address: IpAddr, is_meant: impl Fn(&[u8]) -> bool) -> usize {
    let selector = ask.plugin.joined.selector;
    let pods = ask.snapshot.holders(address).filter(|holder| match holder {
        Holder::Pod(pod) => pod.selected.by(selector) && is_meant(pod.key.namespace().as_bytes()),
        _ => false,
    });
    pods.count()
}

impl Kubernetes {
    /// The pod that has an address; one of those that share a node's, if they do.
    pub(super) fn pod_at<'s>(&self, snapshot: &'s Snapshot, address: IpAddr) -> Option<&'s Arc<Pod>> {
        snapshot.holders(address).find_map(|holder| match holder {
            Holder::Pod(pod) if pod.selected.by(self.joined.selector) => Some(pod),
            _ => None,
        })
    }
}

/// Pods are known under the one spelling their status has: `fd00--1`, but not `fd00-0-0-0-0-0-0-1`.
fn spelt_as_usual(label: &[u8], address: IpAddr) -> bool {
    /// Compares what is written with a label in which dots and colons are dashes.
    struct Compared<'l> {
        rest: &'l [u8],
        same: bool,
    }
    impl Write for Compared<'_> {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for byte in text.bytes() {
                let wanted = if matches!(byte, b'.' | b':') { b'-' } else { byte };
                match self.rest.split_first() {
                    Some((first, rest)) if *first == wanted => self.rest = rest,
                    _ => self.same = false,
                }
            }
            Ok(())
        }
    }
    let mut compared = Compared { rest: label, same: true };
    let _ = write!(compared, "{address}");
    compared.same && compared.rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        for (label, usual) in [
            ("10-0-0-1", true),
            ("fd00--1", true),
            ("fd00-0-0-0-0-0-0-1", false),
            ("fd00--", true),
            ("fd00--0", false),
        ] {
            let address = undashed(label.as_bytes()).unwrap();
            assert_eq!(spelt_as_usual(label.as_bytes(), address), usual, "{label}");
        }
    }
}
