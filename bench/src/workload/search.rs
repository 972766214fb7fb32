//! Search storms: pods look up names outside the cluster with `ndots:5`.
//!
//! A resolver tries a name with fewer than five dots in each domain of the pod's search path before the name itself, for
//! A and for AAAA: eight queries, six of them denied. With *autopath* the server applies the path, and the client's first
//! two queries get the answers.

use std::fmt::Write;

use serde_json::json;
use testkit::cluster::objects::{Object, Resource};
use testkit::error::Result;

use super::{NONE_DENIED, NONE_FORWARDED, Prepared, Turn, Workload};
use crate::clusters::WatchedCluster;
use bench::kubeadm;

/// Names per turn, all of them cached: pods look up the same few names outside.
const NAMES: u32 = 500;

/// The namespace of dnsperf's pod address.
const NAMESPACE: &str = "shop";

/// The search path of its pods.
const SEARCH: [&str; 3] = [".shop.svc.cluster.local", ".svc.cluster.local", ".cluster.local"];

const SERVICES: u8 = 200;

/// An API server with some Services and the client pod.
pub fn prepare() -> Result<Prepared> {
    let watched = WatchedCluster::start(&objects())?;
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

/// The pod with dnsperf's address.
fn pod() -> Object {
    let body = json!({
        "metadata": {"name": "client"},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    });
    let mut pod = Object::new(Resource::Pod, NAMESPACE, "client", body);
    pod.status = Some(json!({"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}));
    pod
}

/// All queries of a client, those with answers last.
fn storm_turn(number: u32, _at_most: u64) -> Turn {
    let path = SEARCH.iter().chain(&[""]).copied();
    Turn { warm_up: questions(number, [""]), questions: questions(number, path) }
}

/// The first two queries of the same lookups.
fn autopath_turn(number: u32, _at_most: u64) -> Turn {
    let questions = questions(number, [SEARCH[0]]);
    Turn { warm_up: questions.clone(), questions }
}

/// Each turn has its own names, so that none expires during the measurement.
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
    fn lookup_is_the_whole_path_for_both_types() {
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
