//! Reports kinds that are not listed yet and why, so that no unlisted object is explained as absent.

use std::fmt::Display;
use std::time::Duration;

use cluster::object::ServiceType;
use cluster::{Cluster, Kind, Snapshot, Source, Unlisted};
use wire::Rtype;

use super::explain::{list, namespace};
use super::find::NameLookup;
use super::options::Pods;
use super::request::{ObjectRef, Part, Request};
use super::{Kubernetes, wildcards};

/// Prefixes that kube and hyper put before the cause.
const WRAPPERS: [&str; 3] = ["ServiceError: ", "client error (Connect): ", "tcp connect error: "];

/// Lines about the kinds among `needed` that were not listed: what happened, then what to do.
pub(super) fn lines(
    plugin: &Kubernetes,
    cluster: &Cluster,
    snapshot: &Snapshot,
    needed: &[Kind],
) -> Vec<String> {
    let unlisted: Vec<_> =
        cluster.unlisted(snapshot).into_iter().filter(|(kind, _)| needed.contains(kind)).collect();
    let source = SourceDescription { source: plugin.watched.source(), address: cluster.address() };
    let mut lines = Vec::new();
    for (kind, why) in &unlisted {
        for line in source.error(*kind, why) {
            // An unreachable source has the same line for every kind.
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    let kinds = |state: Unlisted| {
        let kinds = unlisted.iter().filter(|(_, why)| *why == state).map(|(kind, _)| kind.plural());
        Some(list(kinds)).filter(|kinds| !kinds.is_empty())
    };
    lines.extend(
        kinds(Unlisted::Unanswered).map(|kinds| source.unanswered(&kinds, plugin.clusters.since_start())),
    );
    let listing =
        |kinds| format!("{kinds} not complete yet: the list from {} is in progress", source.address);
    lines.extend(kinds(Unlisted::Listing).map(listing));
    lines
}

/// The line about a source that is not open yet.
pub(super) fn not_opened(plugin: &Kubernetes) -> String {
    hang_error(plugin.watched.source())
}

fn hang_error(folder: &impl Display) -> String {
    format!("cannot read {folder}: timed out, its file system may hang")
}

struct SourceDescription<'a> {
    source: &'a Source,
    address: String,
}

impl SourceDescription<'_> {
    fn error(&self, kind: Kind, why: &Unlisted) -> Vec<String> {
        let (address, kinds) = (&self.address, kind.plural());
        match (self.source, why) {
            (_, Unlisted::Unanswered | Unlisted::Listing) => Vec::new(),
            (Source::Manifests(_), Unlisted::Unreachable { why } | Unlisted::Failed { why, .. }) => {
                vec![format!("cannot read {address}: {why}")]
            }
            (_, Unlisted::Unreachable { why }) => vec![
                format!("cannot reach {address}: {}", cause(why)),
                "check the address, and that the API server accepts connections from here".to_owned(),
            ],
            (source, Unlisted::Failed { status: Some(401), why }) => vec![
                format!("cannot log in at {address}: {}", refusal(why)),
                format!("check the token or client certificate of {source}"),
            ],
            (_, Unlisted::Failed { status: Some(403), why }) => vec![
                format!("cannot list {kinds} at {address}: {}", refusal(why)),
                format!(
                    "grant list and watch on {kinds} ({}) to the account, see deploy/kubernetes",
                    group(kind)
                ),
            ],
            (_, Unlisted::Failed { status: Some(_), why }) => {
                vec![format!("cannot list {kinds} at {address}: {}", refusal(why))]
            }
            (_, Unlisted::Failed { status: None, why }) => {
                vec![format!("cannot list {kinds} at {address}: {}", cause(why))]
            }
        }
    }

    fn unanswered(&self, kinds: &impl Display, waited: Duration) -> String {
        let (address, seconds) = (&self.address, waited.as_secs());
        match self.source {
            Source::Manifests(_) => hang_error(address),
            _ => format!("no answer from {address} for {kinds}: gave up after {seconds}s"),
        }
    }
}

fn cause(why: &str) -> &str {
    WRAPPERS.iter().fold(why, |why, wrapper| why.strip_prefix(wrapper).unwrap_or(why))
}

/// `403 Forbidden (services is forbidden: ...)`
fn refusal(why: &str) -> String {
    why.split_once(": ").map_or_else(|| why.to_owned(), |(status, message)| format!("{status} ({message})"))
}

fn group(kind: Kind) -> &'static str {
    match kind {
        Kind::Namespace | Kind::Service | Kind::Pod => "core",
        Kind::EndpointSlice => "discovery.k8s.io",
        Kind::ServiceImport => "multicluster.x-k8s.io",
    }
}

/// The kinds that an answer depends on.
pub(super) fn needed(lookup: &NameLookup<'_>, qtype: Rtype) -> Vec<Kind> {
    let all = || lookup.plugin.kinds.clone();
    match lookup.request() {
        _ if matches!(qtype, Rtype::AXFR | Rtype::IXFR) || qtype == Rtype::TXT && lookup.is_version() => {
            Vec::new()
        }
        // The addresses are those of this server's own Service.
        _ if lookup.is_name_server() || lookup.is_apex() && qtype == Rtype::NS => all(),
        _ if lookup.zone.is_reverse => all(),
        Request::Apex | Request::Invalid => Vec::new(),
        Request::Pod(object) => match lookup.plugin.options.pods {
            Pods::Disabled => Vec::new(),
            Pods::Insecure => vec![Kind::Namespace],
            Pods::Verified if lacks_namespace(lookup, &object) => vec![Kind::Namespace],
            Pods::Verified => vec![Kind::Namespace, Kind::Pod],
        },
        Request::Service(object) if lookup.plugin.options.wildcards && wildcards::has_wildcard(&object) => {
            all()
        }
        Request::Service(object) => needed_for_service(lookup, &object),
    }
}

/// Whether the namespace is not served; then no other kind matters.
fn lacks_namespace(lookup: &NameLookup<'_>, object: &ObjectRef<'_>) -> bool {
    namespace(lookup.plugin, lookup.snapshot, object.namespace).is_some()
}

fn needed_for_service(lookup: &NameLookup<'_>, object: &ObjectRef<'_>) -> Vec<Kind> {
    if !lookup.plugin.options.includes_namespace(object.namespace) {
        return Vec::new();
    }
    let namespaces_synced = lookup.snapshot.has_synced(Kind::Namespace);
    if object.name.is_empty() || namespaces_synced && lacks_namespace(lookup, object) {
        return vec![Kind::Namespace];
    }
    let kind = if lookup.zone.is_multicluster { Kind::ServiceImport } else { Kind::Service };
    let entry = lookup.snapshot.entry(object.key);
    let needs_endpoints = match entry.and_then(|entry| entry.service.as_ref()) {
        _ if lookup.zone.is_multicluster => true,
        None => !lookup.snapshot.has_synced(kind),
        Some(service) => match service.kind {
            ServiceType::Headless => true,
            _ => {
                !matches!(object.part, Part::All | Part::Port { .. })
                    || lookup.plugin.options.ignore_empty_service
            }
        },
    };
    let mut kinds = vec![Kind::Namespace, kind];
    if needs_endpoints && lookup.plugin.kinds.contains(&Kind::EndpointSlice) {
        kinds.push(Kind::EndpointSlice);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases that the API server in the tests of `rhumb explain` cannot produce.
    #[test]
    fn lines_about_sources() {
        let manifests = Source::Manifests("/cluster".into());
        let failed = |status, why: &str| Unlisted::Failed { status, why: why.to_owned() };
        for (source, kind, why, expected) in [
            (
                &manifests,
                Kind::Pod,
                Unlisted::Unreachable { why: "Permission denied (os error 13)".to_owned() },
                "cannot read SOURCE: Permission denied (os error 13)",
            ),
            (
                &Source::InCluster,
                Kind::ServiceImport,
                failed(None, "the server has no ServiceImports (multicluster.x-k8s.io)"),
                "cannot list serviceimports at SOURCE: the server has no ServiceImports (multicluster.x-k8s.io)",
            ),
            (
                &Source::InCluster,
                Kind::Service,
                failed(Some(503), "503 Service Unavailable"),
                "cannot list services at SOURCE: 503 Service Unavailable",
            ),
            (
                &Source::InCluster,
                Kind::Service,
                failed(Some(500), "500 Internal Server Error: etcd: no leader"),
                "cannot list services at SOURCE: 500 Internal Server Error (etcd: no leader)",
            ),
            (
                &Source::InCluster,
                Kind::Service,
                failed(Some(401), "401 Unauthorized: Unauthorized"),
                "cannot log in at SOURCE: 401 Unauthorized (Unauthorized)\n\
                 check the token or client certificate of in-cluster",
            ),
        ] {
            let described = SourceDescription { source, address: "SOURCE".to_owned() };
            assert_eq!(described.error(kind, &why).join("\n"), expected);
        }
        let described = SourceDescription { source: &manifests, address: "SOURCE".to_owned() };
        let hung = "cannot read SOURCE: timed out, its file system may hang";
        assert_eq!(described.unanswered(&"pods", Duration::ZERO), hung);
    }
}
