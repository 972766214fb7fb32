//! Names of pods: their addresses with dashes, in their own namespace and in others, and invalid addresses.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::super::objects::{list, name_of, namespace_of, text};
use super::super::stored::StoredObjects;
use super::{addresses, dashed};
use crate::random::Random;

/// Labels that resemble an address.
const ODD: &[&str] = &[
    "10-0-0",
    "10-0-0-256",
    "010-0-0-1",
    "10-0-0-01",
    "10--0-0-1",
    "10-0-0-1-",
    "-10-0-0-1",
    "1-2-3-4-5",
    "1-2-3-4-5-6-7-8",
    "1-2-3-4-5-6-7-8-9",
    "1--8",
    "--1",
    "--",
    "-",
    "---",
    "fd00--1--2",
    "FD00--ABCD",
    "fd00--0",
    "fd00--",
    "fd00-10-244--0",
    "--ffff-10-0-0-1",
    "fe80--1",
    "abcd",
    "10",
    "0-0-0-0",
    "255-255-255-255",
    "1-1-1-g",
    "*",
    "any",
    "_",
    "a-b-c-d",
    "fffff--1",
];

pub(super) fn pods(stored: &StoredObjects, zone: &str, random: &mut Random) -> Vec<String> {
    let namespaces: Vec<&str> = stored.namespaces.iter().map(name_of).collect();
    let mut names = Vec::new();
    if namespaces.is_empty() {
        return names;
    }
    for pod in &stored.pods {
        let (name, namespace) = (name_of(pod), namespace_of(pod));
        for ip in list(pod, "/status/podIPs").iter().filter_map(|ip| text(ip, "/ip").parse().ok()) {
            let label = dashed(ip);
            names.push(format!("{label}.{namespace}.pod.{zone}"));
            names.push(format!("{label}.{namespace}.pod.{zone}"));
            names.push(format!("{label}.{}.pod.{zone}", random.pick(&namespaces)));
        }
        names.push(format!("{name}.{namespace}.pod.{zone}"));
    }
    let endpoints: BTreeSet<IpAddr> = stored.slices.iter().flat_map(addresses).collect();
    for ip in endpoints {
        names.push(format!("{}.{}.pod.{zone}", dashed(ip), random.pick(&namespaces)));
    }
    for odd in ODD {
        names.push(format!("{odd}.{}.pod.{zone}", random.pick(&namespaces)));
        names.push(format!("{odd}.nosuch.pod.{zone}"));
    }
    names.push(format!("x.10-244-0-1.{}.pod.{zone}", random.pick(&namespaces)));
    names.push(format!("_http._tcp.10-244-0-1.{}.pod.{zone}", random.pick(&namespaces)));
    names
}
