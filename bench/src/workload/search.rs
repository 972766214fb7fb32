//! Search storms: pods look up names outside the cluster with `ndots:5`.
//!
//! A name with fewer than five dots is tried under each domain of the pod's search path before it is tried as it is, for
//! A and for AAAA: eight queries, six of them denied. With *autopath* the server walks the path and the client's first
//! two queries bring the answers.

use std::fmt::Write;

use serde_json::json;
use testkit::cluster::objects::{Object, Resource};
use testkit::error::Result;

use super::{NONE_DENIED, NONE_FORWARDED, Prepared, Turn, Workload};
use crate::ground::Watched;
use bench::kubeadm;

/// Names that are looked up in a turn, all of them in the cache: pods ask for the same few names outside.
const NAMES: u32 = 500;

/// The namespace that dnsperf's address belongs to.
const NAMESPACE: &str = "shop";

/// What the path of its pods has in front of nothing.
const SEARCH: [&str; 3] = [".shop.svc.cluster.local", ".svc.cluster.local", ".cluster.local"];

const SERVICES: u8 = 200;

/// An API server with some Services and the pod that asks.
pub fn prepare() -> Result<Prepared> {
    let watched = Watched::start(&objects())?;
    let workloads = vec![storm(watched.kubeconfig()), autopath(watched.kubeconfig())];
    Ok(Prepared { workloads, watched: Some(watched.into()) })
}

fn storm(kubeconfig: &str) -> Workload {
    Workload {
        files: kubeadm::files(kubeconfig),
        forwarded: Some(NONE_FORWARDED),
        denied: 0.74..=0.76,
        queries_per_look_up: 8,
        turn: storm_turn,
        ..Workload::new(
            "search",
            "names outside, looked up along a pod's search path, eight queries each; kubeadm's Corefile",
            kubeadm::COREFILE,
        )
    }
}

fn autopath(kubeconfig: &str) -> Workload {
    Workload {
        name: "search-autopath",
        about: "the same names with autopath @kubernetes and pods verified, two queries each",
        corefile: kubeadm::with_autopath(),
        denied: NONE_DENIED,
        queries_per_look_up: 2,
        turn: autopath_turn,
        ..storm(kubeconfig)
    }
}

fn objects() -> Vec<Object> {
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    let mut objects = vec![Object::new(Resource::Namespace, "", NAMESPACE, namespace), pod()];
    objects.extend((0..SERVICES).map(|n| {
        let name = format!("service-{n}");
        let body = json!({
            "metadata": {"name": name},
            "spec": {
                "clusterIP": format!("10.96.1.{n}"),
                "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
            },
        });
        Object::new(Resource::Service, NAMESPACE, &name, body)
    }));
    objects
}

/// The one that dnsperf seems to be.
fn pod() -> Object {
    let body = json!({
        "metadata": {"name": "client"},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    });
    let mut pod = Object::new(Resource::Pod, NAMESPACE, "client", body);
    pod.status = Some(json!({"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}));
    pod
}

/// All that a client asks, the answers last.
fn storm_turn(number: u32, _at_most: u64) -> Turn {
    let path = SEARCH.iter().chain(&[""]).copied();
    Turn { warm_up: questions(number, [""]), questions: questions(number, path) }
}

/// The first two queries of the same look-ups.
fn autopath_turn(number: u32, _at_most: u64) -> Turn {
    let questions = questions(number, [SEARCH[0]]);
    Turn { warm_up: questions.clone(), questions }
}

/// Names of its own for each turn: none gets too old in the cache while it is measured.
fn questions(turn: u32, path: impl IntoIterator<Item = &'static str> + Clone) -> String {
    let mut text = String::new();
    for n in 0..NAMES {
        for suffix in path.clone() {
            for kind in ["A", "AAAA"] {
                // Writing to a String does not fail.
                let _ = writeln!(text, "host-{n}.turn-{turn}.search.example{suffix} {kind}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_up_is_the_whole_path_for_both_types() {
        let turn = storm_turn(7, 0);
        let first: Vec<&str> = turn.questions.lines().take(8).collect();
        assert_eq!(
            first,
            [
                "host-0.turn-7.search.example.shop.svc.cluster.local A",
                "host-0.turn-7.search.example.shop.svc.cluster.local AAAA",
                "host-0.turn-7.search.example.svc.cluster.local A",
                "host-0.turn-7.search.example.svc.cluster.local AAAA",
                "host-0.turn-7.search.example.cluster.local A",
                "host-0.turn-7.search.example.cluster.local AAAA",
                "host-0.turn-7.search.example A",
                "host-0.turn-7.search.example AAAA",
            ]
        );
        assert_eq!(turn.questions.lines().count() as u32, NAMES * storm("").queries_per_look_up);
        assert!(turn.warm_up.lines().all(|line| turn.questions.contains(line)));
        let walked = autopath_turn(7, 0);
        assert_eq!(walked.questions.lines().count() as u32, NAMES * autopath("").queries_per_look_up);
        assert!(walked.questions.lines().eq(turn.questions.lines().filter(|line| line.contains(SEARCH[0]))));
    }
}
