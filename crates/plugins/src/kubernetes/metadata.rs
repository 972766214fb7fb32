//! Metadata of a query: the parts of its name, and the client's pod.

use cluster::object::Pod;
use server::{Metadata, MetadataView};

use super::Kubernetes;
use super::options::Pods;
use super::request::{Grammar, ObjectRef, Part, Request};

impl Metadata for Kubernetes {
    fn value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        let label = label.strip_prefix("kubernetes/")?;
        if let Some(client_label) = label.strip_prefix("client-") {
            return self.client_value(client_label, view);
        }
        let name = view.query.question.lower();
        let (zone, at) = self.zone_of(name)?;
        let grammar = Grammar { multicluster: zone.is_multicluster, zonal: self.options.zonal };
        let front = name.wire().get(..at)?;
        let (kind, object) = match Request::parse(front, grammar) {
            Request::Invalid => return (label == "parse-error").then(|| "invalid query name".to_owned()),
            Request::Apex => ("", None),
            Request::Service(object) => ("svc", Some(object)),
            Request::Pod(object) => ("pod", Some(object)),
        };
        match label {
            "kind" => Some(kind.to_owned()),
            "cluster" if !grammar.multicluster => None,
            "zone" if !grammar.zonal => None,
            "endpoint" | "port-name" | "protocol" | "service" | "namespace" | "cluster" | "zone" => {
                // A part that the name does not have is empty.
                Some(object.map_or_else(String::new, |object| part(&object, label)))
            }
            _ => None,
        }
    }
}

fn part(object: &ObjectRef<'_>, label: &str) -> String {
    let octets: &[u8] = match (label, object.part) {
        ("namespace", _) => object.namespace,
        ("service", _) => object.name,
        ("endpoint", Part::Endpoint(endpoint) | Part::ClusterEndpoint { endpoint, .. }) => endpoint,
        ("cluster", Part::ClusterEndpoint { cluster, .. }) => cluster,
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
    /// Pods are watched with `pods verified` only.
    fn client_value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        if self.options.pods != Pods::Verified {
            return None;
        }
        let snapshot = self.watched.cluster()?.snapshot();
        pod_value(self.pod_at(&snapshot, view.client.remote.ip())?, label)
    }
}

fn pod_value(pod: &Pod, label: &str) -> Option<String> {
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
