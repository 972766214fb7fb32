//! What others may ask for by label: the parts of the name, and the pod that asks.

use cluster::object::Pod;
use server::{Metadata, MetadataView};

use super::Kubernetes;
use super::options::Pods;
use super::request::{Asked, Grammar, Part, Request};

impl Metadata for Kubernetes {
    fn value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        let label = label.strip_prefix("kubernetes/")?;
        if let Some(of_client) = label.strip_prefix("client-") {
            return self.of_client(of_client, view);
        }
        let name = view.query.question.lower();
        let (zone, at) = self.zone_of(name)?;
        let grammar = Grammar { multicluster: zone.is_multicluster, zonal: self.options.zonal };
        let front = name.wire().get(..at)?;
        let (kind, asked) = match Request::read(front, grammar) {
            Request::Invalid => return (label == "parse-error").then(|| "invalid query name".to_owned()),
            Request::Apex => ("", None),
            Request::Service(asked) => ("svc", Some(asked)),
            Request::Pod(asked) => ("pod", Some(asked)),
        };
        match label {
            "kind" => Some(kind.to_owned()),
            "cluster" if !grammar.multicluster => None,
            "zone" if !grammar.zonal => None,
            "endpoint" | "port-name" | "protocol" | "service" | "namespace" | "cluster" | "zone" => {
                // Names without such a part have an empty one.
                Some(asked.map_or_else(String::new, |asked| part(&asked, label)))
            }
            _ => None,
        }
    }
}

fn part(asked: &Asked<'_>, label: &str) -> String {
    let octets: &[u8] = match (label, asked.part) {
        ("namespace", _) => asked.namespace,
        ("service", _) => asked.name,
        ("endpoint", Part::Endpoint(endpoint) | Part::Member { endpoint, .. }) => endpoint,
        ("cluster", Part::Member { cluster, .. }) => cluster,
        ("port-name", Part::Port { port, .. }) => port,
        ("protocol", Part::Port { protocol, .. }) => protocol,
        ("zone", Part::Zone { labels, .. }) => return dotted(labels),
        _ => b"",
    };
    String::from_utf8_lossy(octets).into_owned()
}

fn dotted(mut labels: &[u8]) -> String {
    let mut pieces = Vec::new();
    while let Some((len, rest)) = labels.split_first() {
        let (label, rest) = rest.split_at(usize::from(*len).min(rest.len()));
        pieces.push(String::from_utf8_lossy(label).into_owned());
        labels = rest;
    }
    pieces.join(".")
}

impl Kubernetes {
    /// Only who verifies pods knows them.
    fn of_client(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        if self.options.pods != Pods::Verified {
            return None;
        }
        let snapshot = self.watched.cluster()?.snapshot();
        of_pod(self.pod_at(&snapshot, view.client.remote.ip())?, label)
    }
}

fn of_pod(pod: &Pod, label: &str) -> Option<String> {
    match label {
        "namespace" => Some(pod.key.namespace().to_owned()),
        "pod-name" => Some(pod.key.name().to_owned()),
        _ => {
            let key = label.strip_prefix("label/")?;
            let found = pod.labels.iter().find(|(name, _)| &**name == key);
            found.map(|(_, value)| value.to_string())
        }
    }
}
