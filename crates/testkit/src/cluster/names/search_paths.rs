//! The first query of a resolver that searches for a short name.

use super::super::generate::OUTSIDE;
use super::super::objects::{name_of, namespace_of};
use super::super::stored::StoredObjects;
use super::pool;
use crate::query::Pool;
use crate::random::Random;

/// Short names that do not exist or are invalid.
const MISSES: &[&str] =
    &["", "nosuch", "nosuch.example.net", "www.example.org", "cluster.local", "svc", "a.b.c.d"];

/// Short names in each of the domains, which are the first search domains of some clients. Two pools per domain:
/// names that exist somewhere along the search path, and names that may.
pub fn search_paths(stored: &StoredObjects, domains: &[&str], seed: u64) -> Vec<Pool> {
    let mut random = Random::new(seed);
    let mut pools = Vec::new();
    for domain in domains {
        let within = |short: &str| format!("{short}.{domain}").trim_start_matches('.').to_owned();
        let mut there: Vec<String> = OUTSIDE.iter().map(|(name, _)| within(name)).collect();
        let mut perhaps: Vec<String> = MISSES.iter().map(|name| within(name)).collect();
        for service in &stored.services {
            let (name, namespace) = (name_of(service), namespace_of(service));
            match random.below(6) {
                0 => there.push(within(&format!("{name}.{namespace}"))),
                1 => there.push(within(&format!("{name}.{namespace}.svc"))),
                2 => there.push(within(&format!("{name}.{namespace}.svc.cluster.local"))),
                3 => perhaps.push(within(&format!("_http._tcp.{name}"))),
                4 => perhaps.push(within(&format!("db-0.{name}.{namespace}"))),
                _ => perhaps.push(within(name)),
            }
        }
        pools.extend([pool(3, there), pool(1, perhaps)]);
    }
    pools
}
