//! A hosts file: alone, and in the chain of a usual Corefile.

use std::fmt::Write;

use super::{Turn, Workload};
use crate::contender::Kind::{Before, CoreDns, Echo, Rhumb};

/// Names in the hosts file, each with one A and one AAAA record.
const NAMES: u32 = 10_000;

/// Questions in dnsperf's file, which it repeats.
const QUESTIONS: u32 = 40_000;

/// The plugin alone.
pub fn alone() -> Workload {
    Workload {
        contenders: &[Echo, Rhumb, Before, CoreDns],
        ..served("hosts", "one server block with the hosts plugin alone", ALONE)
    }
}

/// With a usual chain. The echo has no Corefile, so it is not measured again.
pub fn kubeadm_like() -> Workload {
    Workload {
        saturation: false,
        ..served(
            "kubeadm-like",
            "errors, health, ready, hosts, loadbalance and reload, as kubeadm has them",
            KUBEADM_LIKE,
        )
    }
}

fn served(name: &'static str, about: &'static str, corefile: &str) -> Workload {
    Workload { files: vec![("hosts", hosts())], turn, ..Workload::new(name, about, corefile) }
}

const ALONE: &str = ".:{port} {
    bind 127.0.0.1
    hosts hosts {
        ttl 60
        reload 0
    }
}
";

const KUBEADM_LIKE: &str = ".:{port} {
    bind 127.0.0.1
    errors
    health 127.0.0.1:{free}
    ready 127.0.0.1:{free}
    hosts hosts {
        ttl 60
    }
    reload
    loadbalance
}
";

fn hosts() -> String {
    let mut text = String::new();
    for n in 0..NAMES {
        let name = name(n);
        // Writing to a String does not fail.
        let _ = writeln!(text, "10.0.{}.{} {name}", n / 256, n % 256);
        let _ = writeln!(text, "2001:db8::{n:x} {name}");
    }
    text
}

fn name(n: u32) -> String {
    format!("svc-{n}.ns-{}.svc.cluster.local", n % 97)
}

/// All turns are the same. Of ten questions four are for A and four for AAAA, one for PTR, and one for a type that the
/// name lacks. The names are spread by a step coprime to their number.
fn turn(_number: u32, _at_most: u64) -> Turn {
    let mut questions = String::new();
    for i in 0..QUESTIONS {
        let n = i.wrapping_mul(7919) % NAMES;
        let _ = match i % 10 {
            0..4 => writeln!(questions, "{} A", name(n)),
            4..8 => writeln!(questions, "{} AAAA", name(n)),
            8 => writeln!(questions, "{}.{}.0.10.in-addr.arpa PTR", n % 256, n / 256),
            _ => writeln!(questions, "{} TXT", name(n)),
        };
    }
    Turn { warm_up: String::new(), questions }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_for_an_existing_name() {
        let hosts = hosts();
        assert_eq!(hosts.lines().count(), 2 * NAMES as usize);
        let known: std::collections::HashSet<&str> =
            hosts.lines().filter_map(|line| line.split_once(' ')).map(|(_, name)| name).collect();
        let questions = turn(0, 0).questions;
        let mut kinds = std::collections::BTreeMap::<&str, u32>::new();
        for line in questions.lines() {
            let (name, kind) = line.split_once(' ').unwrap();
            *kinds.entry(kind).or_default() += 1;
            assert!(kind == "PTR" || known.contains(name), "{line}");
        }
        assert_eq!(kinds, [("A", 16_000), ("AAAA", 16_000), ("PTR", 4_000), ("TXT", 4_000)].into());
    }
}
