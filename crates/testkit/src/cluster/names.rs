//! Query names for a cluster: every form of name for its objects, and near misses of each.
//!
//! The pools go to [`crate::query::Generator`], which adds types, case, EDNS and further misses.

mod dashed;
mod outside;
mod pods;
mod reverse;
mod search_paths;
mod services;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::Value;

use super::generate::OUTSIDE;
use super::objects::{label_of, list, name_of, namespace_of, text};
use super::stored::StoredObjects;
use crate::name::Name;
use crate::query::Pool;
use crate::random::Random;

pub use dashed::dashed;
pub use outside::outside;
pub use reverse::reverse;
pub use search_paths::search_paths;

/// The zones to query.
#[derive(Clone, Copy, Debug)]
pub struct Zones<'a> {
    /// Zones of the cluster itself.
    pub cluster: &'a [&'a str],
    /// Zones of the ClusterSet.
    pub set: &'a [&'a str],
}

/// One pool per form of name. The seed selects the near misses.
pub fn pools(stored: &StoredObjects, zones: Zones<'_>, seed: u64) -> Vec<Pool> {
    let mut random = Random::new(seed);
    let mut pools = Vec::new();
    for zone in zones.cluster {
        pools.extend([
            pool(10, services::services(stored, zone)),
            pool(6, services::ports(stored, zone)),
            pool(6, services::endpoints(stored, zone)),
            pool(2, services::zonal(stored, zone)),
            pool(3, services::misses(stored, zone, &mut random)),
            pool(4, pods::pods(stored, zone, &mut random)),
            pool(2, fixed(stored, zone)),
        ]);
    }
    for zone in zones.set {
        pools.extend([
            pool(2, services::services(stored, zone)),
            pool(6, services::imports(stored, zone)),
            pool(1, services::misses(stored, zone, &mut random)),
            pool(1, pods::pods(stored, zone, &mut random)),
            pool(2, fixed(stored, zone)),
        ]);
    }
    pools.push(pool(5, reverse::names(stored, &mut random)));
    pools.push(pool(1, OUTSIDE.iter().map(|(name, _)| (*name).to_owned()).collect()));
    pools
}

/// Leaves out invalid names: some objects have names longer than a label.
fn pool(weight: u32, names: Vec<String>) -> Pool {
    let names: BTreeSet<Name> = names.iter().filter_map(|name| Name::parse(name).ok()).collect();
    Pool { weight, names: names.into_iter().collect() }
}

/// Names that exist in every zone, and near misses of them.
fn fixed(stored: &StoredObjects, zone: &str) -> Vec<String> {
    const PREFIXES: &[&str] = &[
        "",
        "svc.",
        "pod.",
        "dns-version.",
        "x.dns-version.",
        "ns.dns.",
        "dns.",
        "x.ns.dns.",
        "a.b.dns.",
        "nosuch.",
        "nosuch.svc.",
        "nosuch.pod.",
        "*.svc.",
        "any.svc.",
        "*.",
        "any.any.svc.",
        "*.*.svc.",
        "endpoints.",
        "_tcp.",
        "_http._tcp.",
        "_zone.svc.",
        "a.b.c.d.e.f.g.svc.",
        "kubernetes.default.svc.",
        "_https._tcp.kubernetes.default.svc.",
        "kubernetes.default.",
        "kubernetes.",
    ];
    let mut names: Vec<String> = PREFIXES.iter().map(|prefix| format!("{prefix}{zone}")).collect();
    for namespace in &stored.namespaces {
        let namespace = name_of(namespace);
        for kind in ["svc", "pod"] {
            names.push(format!("{namespace}.{kind}.{zone}"));
        }
        names.push(format!("{namespace}.{zone}"));
        names.push(format!("{namespace}.nosuch.{zone}"));
    }
    names
}

/// Slices by namespace and Service, according to a label.
struct Slices<'a>(BTreeMap<(&'a str, &'a str), Vec<&'a Value>>);

impl<'a> Slices<'a> {
    fn by(stored: &'a StoredObjects, label: &str) -> Self {
        let mut slices: BTreeMap<_, Vec<&Value>> = BTreeMap::new();
        for slice in &stored.slices {
            if let Some(service) = label_of(slice, label) {
                slices.entry((namespace_of(slice), service)).or_default().push(slice);
            }
        }
        Self(slices)
    }

    fn of(&self, service: &'a Value) -> &[&'a Value] {
        self.0.get(&(namespace_of(service), name_of(service))).map_or(&[], Vec::as_slice)
    }
}

/// Every address an endpoint of a slice has.
fn addresses(slice: &Value) -> impl Iterator<Item = IpAddr> {
    list(slice, "/endpoints")
        .iter()
        .flat_map(|endpoint| list(endpoint, "/addresses"))
        .filter_map(|address| text(address, "").parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::generate::{self, Size};
    use crate::cluster::objects::Resource;

    /// Objects as an API server would store them.
    fn stored() -> StoredObjects {
        let mut stored = StoredObjects::default();
        for object in generate::cluster(1, Size { services: 60, pods: 30, imports: 12 }) {
            let mut body = object.body;
            body["metadata"]["namespace"] = object.namespace.as_str().into();
            if let Some(status) = object.status {
                body["status"] = status;
            }
            match object.resource {
                Resource::Namespace => stored.namespaces.push(body),
                Resource::Service => stored.services.push(body),
                Resource::EndpointSlice => stored.slices.push(body),
                Resource::Pod => stored.pods.push(body),
                Resource::ServiceImport => stored.imports.push(body),
            }
        }
        stored
    }

    #[test]
    fn every_form_is_generated() {
        let zones = Zones { cluster: &["cluster.local"], set: &["clusterset.local"] };
        let pools = pools(&stored(), zones, 1);
        let all: Vec<String> = pools.iter().flat_map(|p| &p.names).map(Name::to_string).collect();
        for part in [
            "_http._tcp.",
            "http.tcp.",
            ".pin._zone.",
            ".prefer._zone.",
            ".east.",
            "ns.dns.cluster.local.",
            "dns-version.clusterset.local.",
            "--", // an IPv6 address with dashes
            "db-0.",
            "*.",
            ".pod.cluster.local.",
            ".10.in-addr.arpa.",
            ".d.f.ip6.arpa.",
            "ext1.example.net.",
        ] {
            assert!(all.iter().any(|name| name.contains(part)), "no name with {part}");
        }
        assert!(pools.iter().all(|pool| !pool.names.is_empty()));
    }
}
