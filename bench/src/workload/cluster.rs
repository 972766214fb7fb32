//! A cluster's own names: Rhumb and CoreDNS watch it, the others have the same names as static zones.

use std::fmt::Write;

use testkit::error::Result;

use super::{NONE_FORWARDED, Prepared, Turn, Workload};
use crate::clusters::{SharedClusters, WatchedCluster};
use crate::contender::Kind::{Before, CoreDns, Echo, Knot, Nsd, Rhumb, Unbound};
use crate::goal::{Goal, Measure};
use crate::population::{self, SERVICES, Service, WIDE};
use bench::kubeadm;

/// Questions in dnsperf's file, which it repeats, in blocks of twenty.
const QUESTIONS: u32 = 20_000;
const BLOCK: u32 = 20;

const GOALS: &[Goal] = &[
    Goal::at_most(1.0 / 6.0, Measure::Total, CoreDns),
    Goal::at_most(1.0, Measure::Total, Knot),
    Goal::at_most(0.5, Measure::User, Knot),
    Goal::at_most(1.2, Measure::Total, Echo),
    Goal::at_most(1.0 / 3.0, Measure::P99, CoreDns),
];

pub fn prepare(clusters: &SharedClusters) -> Result<Prepared> {
    let watched = clusters.large_cluster()?;
    Ok(Prepared { workloads: vec![workload(&watched)], watched: Some(watched) })
}

fn workload(watched: &WatchedCluster) -> Workload {
    Workload {
        contenders: &[Echo, Rhumb, Before, CoreDns, Unbound, Knot, Nsd],
        zones: population::zones(),
        goals: GOALS,
        ..names("cluster", ABOUT, watched, kubeadm::COREFILE.to_owned())
    }
}

const ABOUT: &str =
    "5,000 Services and 50,000 endpoints: kubeadm's Corefile on an API server, and static zones";

/// The names of the large cluster, with any Corefile.
pub fn names(
    name: &'static str,
    about: &'static str,
    watched: &WatchedCluster,
    corefile: String,
) -> Workload {
    Workload {
        files: kubeadm::files(watched.kubeconfig()),
        forwarded: Some(NONE_FORWARDED),
        denied: 0.09..=0.11,
        turn,
        ..Workload::new(name, about, corefile)
    }
}

/// All turns are the same. The warm-up is the whole file, so that *cache* has the PTR records.
fn turn(_number: u32, _at_most: u64) -> Turn {
    let mut questions = String::new();
    for i in 0..QUESTIONS {
        let (block, place) = (i / BLOCK, i % BLOCK);
        // Spread by a step coprime to their number, each position of a block in its own order.
        let n = (block + place * 251).wrapping_mul(7919) % SERVICES;
        // Its addresses do not fit in 512 octets.
        let service = Service::number(if n == WIDE { n + 1 } else { n });
        let _ = match place {
            0..8 => writeln!(questions, "{} A", service.name()),
            8..14 => writeln!(questions, "{} AAAA", service.name()),
            14..16 => writeln!(questions, "_http._tcp.{} SRV", service.name()),
            16..18 => writeln!(questions, "{} PTR", population::reverse(service.addresses()[0])),
            _ => writeln!(questions, "no-{} A", service.name()),
        };
    }
    Turn { warm_up: questions.clone(), questions }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use super::*;

    #[test]
    fn questions_are_in_the_zones_unless_to_be_denied() {
        let zones = population::zones();
        let owners: HashSet<&str> =
            zones.iter().flat_map(|zone| &zone.records).map(|record| record.owner.as_str()).collect();
        let questions = turn(0, 0).questions;
        let mut kinds = BTreeMap::<&str, u32>::new();
        let mut denied = 0;
        for line in questions.lines() {
            let (name, kind) = line.split_once(' ').unwrap();
            *kinds.entry(kind).or_default() += 1;
            assert_eq!(owners.contains(name), !name.starts_with("no-"), "{line}");
            denied += u32::from(name.starts_with("no-"));
        }
        assert_eq!(kinds, [("A", 10_000), ("AAAA", 6_000), ("PTR", 2_000), ("SRV", 2_000)].into());
        assert_eq!(denied, 2_000);
    }

    #[test]
    fn each_kind_of_service_is_queried_for_each_type() {
        let questions = turn(0, 0).questions;
        for kind in ["A", "AAAA", "SRV"] {
            let asked = questions.lines().filter_map(|line| line.strip_suffix(kind)?.strip_suffix(' '));
            let names: HashSet<&str> = asked.collect();
            let has = |wanted: fn(&Service) -> bool| {
                (0..SERVICES).map(Service::number).filter(wanted).any(|service| {
                    let name = service.name();
                    names.contains(name.as_str()) || names.contains(format!("_http._tcp.{name}").as_str())
                })
            };
            assert!(has(|service| service.headless()) && has(|service| !service.headless()), "{kind}");
            assert!(has(|service| service.addresses().len() == 2), "{kind}");
        }
    }
}
