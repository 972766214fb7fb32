//! Pod names, made from addresses: `10-244-1-7.shop.pod`.

use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;

use cluster::object::Pod;
use cluster::{Holder, Snapshot};

use super::Kubernetes;
use super::endpoint_name::undashed;
use super::filter::is_wildcard;
use super::find::{LookupResult, NameLookup};
use super::options::Pods;
use super::request::ObjectRef;

/// Looks up a pod name. Labels left of the address are ignored.
pub(super) fn find<'a>(lookup: &NameLookup<'a>, object: &ObjectRef<'a>) -> LookupResult<'a> {
    let plugin = lookup.plugin;
    let any_namespace = plugin.options.wildcards && is_wildcard(object.namespace);
    if plugin.options.pods == Pods::Disabled
        || !any_namespace && !plugin.exposes(lookup.snapshot, object.namespace)
    {
        return LookupResult::NoName;
    }
    if object.name.is_empty() {
        return LookupResult::EmptyNonTerminal;
    }
    let Some(address) = undashed(object.name) else {
        let any_pod = plugin.options.wildcards && is_wildcard(object.name) && !any_namespace;
        let exists = any_pod && plugin.options.pods == Pods::Verified;
        return if exists { LookupResult::EmptyNonTerminal } else { LookupResult::NoName };
    };
    let pods = match plugin.options.pods {
        Pods::Verified => {
            let namespace = |name: &[u8]| {
                if any_namespace { plugin.exposes(lookup.snapshot, name) } else { name == object.namespace }
            };
            if is_canonical(object.name, address) { count(lookup, address, namespace) } else { 0 }
        }
        Pods::Disabled | Pods::Insecure => 1,
    };
    match pods {
        0 => LookupResult::NoName,
        // IPv4 in IPv6 form is IPv4.
        pods => LookupResult::Pod { address: address.to_canonical(), pods },
    }
}

/// The number of pods with the address in the matching namespaces.
fn count(lookup: &NameLookup<'_>, address: IpAddr, in_namespace: impl Fn(&[u8]) -> bool) -> usize {
    let selector = lookup.plugin.joined.selector;
    let pods = lookup.snapshot.holders(address).filter(|holder| match holder {
        Holder::Pod(pod) => pod.selected.by(selector) && in_namespace(pod.key.namespace().as_bytes()),
        _ => false,
    });
    pods.count()
}

impl Kubernetes {
    /// The pod with an address; any one of those on the host network of a node.
    pub(super) fn pod_at<'s>(&self, snapshot: &'s Snapshot, address: IpAddr) -> Option<&'s Arc<Pod>> {
        snapshot.holders(address).find_map(|holder| match holder {
            Holder::Pod(pod) if pod.selected.by(self.joined.selector) => Some(pod),
            _ => None,
        })
    }
}

/// Whether a label is the canonical form of an address: `fd00--1`, but not `fd00-0-0-0-0-0-0-1`.
fn is_canonical(label: &[u8], address: IpAddr) -> bool {
    /// A writer that compares its input, with dots and colons as dashes, with a label.
    struct Comparison<'l> {
        rest: &'l [u8],
        same: bool,
    }
    impl Write for Comparison<'_> {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for byte in text.bytes() {
                let expected = if matches!(byte, b'.' | b':') { b'-' } else { byte };
                match self.rest.split_first() {
                    Some((first, rest)) if *first == expected => self.rest = rest,
                    _ => self.same = false,
                }
            }
            Ok(())
        }
    }
    let mut comparison = Comparison { rest: label, same: true };
    let _ = write!(comparison, "{address}");
    comparison.same && comparison.rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_labels() {
        for (label, canonical) in [
            ("10-0-0-1", true),
            ("fd00--1", true),
            ("fd00-0-0-0-0-0-0-1", false),
            ("fd00--", true),
            ("fd00--0", false),
        ] {
            let address = undashed(label.as_bytes()).unwrap();
            assert_eq!(is_canonical(label.as_bytes(), address), canonical, "{label}");
        }
    }
}
