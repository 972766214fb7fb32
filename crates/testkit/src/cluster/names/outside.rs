//! Names in the zones of k8s_external, in which Services are right below their namespace.

use super::super::objects::{name_of, namespace_of};
use super::super::stored::StoredObjects;
use super::{pool, reverse, services};
use crate::query::Pool;
use crate::random::Random;

/// Names that exist in every zone, and near misses of them.
const PREFIXES: &[&str] = &[
    "",
    "dns.",
    "ns1.dns.",
    "ns.dns.",
    "x.ns1.dns.",
    "a.b.dns.",
    "ns.",
    "ns1.ns.",
    "ns1.",
    "hostmaster.dns.",
    "nosuch.",
    "web.nosuch.",
    "svc.",
    "*.",
    "*.*.",
    "kubernetes.default.",
    "a.b.c.d.e.f.g.",
];

/// One pool per form of name.
pub fn outside(stored: &StoredObjects, zones: &[&str], seed: u64) -> Vec<Pool> {
    let mut random = Random::new(seed);
    let mut pools = vec![pool(8, reverse::names(stored, &mut random))];
    for zone in zones {
        let without = |names: Vec<String>| -> Vec<String> {
            names.iter().map(|name| name.replace(&format!(".svc.{zone}"), &format!(".{zone}"))).collect()
        };
        let mut fixed: Vec<String> = PREFIXES.iter().map(|prefix| format!("{prefix}{zone}")).collect();
        fixed.extend(stored.namespaces.iter().map(|namespace| format!("{}.{zone}", name_of(namespace))));
        let reached = stored.services.iter().filter(|service| is_reached(service));
        let reached = reached
            .flat_map(|service| {
                let base = format!("{}.{}.{zone}", name_of(service), namespace_of(service));
                [
                    base.clone(),
                    base.clone(),
                    format!("x.{base}"),
                    format!("_.{base}"),
                    format!("_http._tcp.{base}"),
                ]
            })
            .collect();
        pools.extend([
            pool(12, reached),
            pool(4, without(services::services(stored, zone))),
            pool(6, without(services::ports(stored, zone))),
            pool(6, without(services::endpoints(stored, zone))),
            pool(2, without(services::misses(stored, zone, &mut random))),
            pool(4, fixed),
        ]);
    }
    pools
}

fn is_reached(service: &serde_json::Value) -> bool {
    use super::super::objects::list;
    !list(service, "/spec/externalIPs").is_empty()
        || !list(service, "/status/loadBalancer/ingress").is_empty()
}
