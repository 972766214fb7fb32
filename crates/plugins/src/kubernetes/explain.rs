//! Explains an answer in one line that names its Kubernetes object. Runs only for `rhumb explain`.

use std::fmt::Display;
use std::net::IpAddr;

use cluster::object::{EndpointSlice, Service, ServiceImport, ServiceType};
use cluster::{Cluster, Entry, Holder, Key, Kind, Snapshot};
use wire::Rtype;

use super::decide::Verdict;
use super::filter::Filter;
use super::find::NameLookup;
use super::options::Pods;
use super::request::{ObjectRef, Part, Request};
use super::service_match::ServiceMatch;
use super::{Kubernetes, endpoint_name, unlisted, wildcards};

/// The reason of an answer, for `explain`.
pub(super) struct Explanation {
    /// Lines about kinds that are not listed yet.
    pub unknown: Vec<String>,
    /// Whether the answer may be wrong, because it depends on kinds that are not listed.
    pub is_false: bool,
    pub reason: String,
}

pub(super) fn explain(
    lookup: &NameLookup<'_>,
    qtype: Rtype,
    cluster: &Cluster,
    verdict: &Verdict,
) -> Explanation {
    let lines = |kinds: &[Kind]| unlisted::lines(lookup.plugin, cluster, lookup.snapshot, kinds);
    let unknown = lines(&unlisted::needed(lookup, qtype));
    let is_false = !unknown.is_empty() && matches!(verdict, Verdict::NxDomain | Verdict::NoData);
    let unknown = match verdict {
        // NXDOMAIN needs every kind to be listed.
        Verdict::NxDomain => lines(&lookup.plugin.kinds),
        _ => unknown,
    };
    Explanation { unknown, is_false, reason: reason(lookup, qtype) }
}

fn reason(lookup: &NameLookup<'_>, qtype: Rtype) -> String {
    if matches!(qtype, Rtype::AXFR | Rtype::IXFR) {
        return "zone transfers are served by the transfer plugin, not by kubernetes".to_owned();
    }
    if qtype == Rtype::PTR
        && let Some(address) = crate::messages::reverse::address(lookup.name)
    {
        return address_of(lookup, address);
    }
    let zone = &lookup.zone.name;
    if qtype == Rtype::TXT && lookup.is_version() {
        return "version of the Kubernetes DNS specification".to_owned();
    }
    if lookup.is_name_server() && !matches!(qtype, Rtype::TXT | Rtype::PTR) {
        return format!("name server of {zone}");
    }
    match lookup.request() {
        Request::Apex if lookup.is_apex() => format!("{zone} is the zone apex"),
        Request::Apex => "the name has no records of its own, only names below it".to_owned(),
        Request::Invalid | Request::Service(_) | Request::Pod(_) if lookup.zone.is_reverse => {
            format!("{zone} is a reverse zone and has PTR records only")
        }
        Request::Invalid => format!(
            "not a name the kubernetes plugin serves: expected SERVICE.NAMESPACE.svc.{}",
            zone.to_string().trim_start_matches('.')
        ),
        Request::Pod(object) => pod(lookup, &object),
        Request::Service(object) if lookup.plugin.options.wildcards && wildcards::has_wildcard(&object) => {
            "all Services that match the wildcard".to_owned()
        }
        Request::Service(object) => namespace(lookup.plugin, lookup.snapshot, object.namespace)
            .unwrap_or_else(|| service(lookup, &object)),
    }
}

pub(super) fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

pub(super) fn list<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(", ")
}

/// Why a namespace is not served; None if it is.
pub(super) fn namespace(plugin: &Kubernetes, snapshot: &Snapshot, name: &[u8]) -> Option<String> {
    let shown = text(name);
    if !plugin.options.includes_namespace(name) {
        return Some(format!("namespace {shown} is not in the namespaces option"));
    }
    match snapshot.namespace(name) {
        None => Some(format!("namespace {shown} does not exist")),
        Some(selected) if !selected.by(plugin.joined.namespace_selector) => {
            Some(format!("namespace {shown} does not match namespace_labels"))
        }
        Some(_) => None,
    }
}

fn service(lookup: &NameLookup<'_>, object: &ObjectRef<'_>) -> String {
    if object.name.is_empty() {
        return format!(
            "namespace {} has no records of its own, only names below it",
            text(object.namespace)
        );
    }
    let kind = if lookup.zone.is_multicluster { "ServiceImport" } else { "Service" };
    let what = format!("{kind} {}/{}", text(object.namespace), text(object.name));
    let filter = Filter::new(object.part, lookup.plugin.options.wildcards);
    let Some(entry) = lookup.snapshot.entry(object.key) else { return format!("{what} does not exist") };
    if lookup.zone.is_multicluster {
        match (&entry.import, lookup.plugin.import(entry)) {
            (_, Some(import)) => of_import(lookup, &what, entry, import, object.part, &filter),
            (Some(_), None) => format!("{what} does not match labels"),
            (None, None) => format!("{what} does not exist"),
        }
    } else {
        match (&entry.service, lookup.plugin.service(entry)) {
            (_, Some(service)) => of_service(lookup, &what, entry, service, object.part, &filter),
            (Some(_), None) => format!("{what} does not match labels"),
            (None, None) => format!("{what} does not exist"),
        }
    }
}

fn of_service(
    lookup: &NameLookup<'_>,
    what: &str,
    entry: &Entry,
    service: &Service,
    part: Part<'_>,
    filter: &Filter<'_>,
) -> String {
    let slices = lookup.plugin.slices(entry);
    let matched = ServiceMatch::service(lookup.plugin, entry, filter);
    match &service.kind {
        ServiceType::ExternalName(target) if matched.is_some() => {
            format!("{what} is an ExternalName: {target}")
        }
        ServiceType::ExternalName(target) if filter.is_service_alone() => {
            format!("{what} is an ExternalName with target {target}, which is not a DNS name")
        }
        ServiceType::ExternalName(_) => format!("{what} is an ExternalName and has no names below it"),
        ServiceType::ClusterIp(_) if filter.zone.is_some() => {
            format!("{what} is not headless; only endpoints are in topology zones")
        }
        ServiceType::ClusterIp(addresses) => match matched {
            Some(matched) if matched.has_own_addresses => format!("{what} has ClusterIP {}", list(addresses)),
            Some(matched) => of_endpoints(lookup, what, slices, &matched, part, filter),
            None if filter.matches_any_port(&service.ports) => {
                format!(
                    "{what} has no ready endpoints and is hidden by ignore empty_service ({})",
                    names(slices)
                )
            }
            None => no_port(what, part),
        },
        ServiceType::Headless => match matched {
            Some(matched) => {
                of_endpoints(lookup, &format!("{what} is headless"), slices, &matched, part, filter)
            }
            None => format!("{what} does not have this name"),
        },
    }
}

fn of_import(
    lookup: &NameLookup<'_>,
    what: &str,
    entry: &Entry,
    import: &ServiceImport,
    part: Part<'_>,
    filter: &Filter<'_>,
) -> String {
    match ServiceMatch::import(lookup.plugin, entry, filter) {
        Some(matched) if matched.has_own_addresses => {
            format!("{what} has clusterset IP {}", list(&import.ips))
        }
        Some(matched) => of_endpoints(lookup, what, &entry.imported, &matched, part, filter),
        None if filter.matches_any_port(&import.ports) => format!("{what} has no ready endpoints"),
        None => no_port(what, part),
    }
}

fn of_endpoints(
    lookup: &NameLookup<'_>,
    what: &str,
    slices: &[std::sync::Arc<EndpointSlice>],
    matched: &ServiceMatch<'_>,
    part: Part<'_>,
    filter: &Filter<'_>,
) -> String {
    if !lookup.plugin.options.endpoints && !lookup.zone.is_multicluster {
        return format!("{what}, and endpoints are not watched (noendpoints)");
    }
    let slices = names(slices);
    let ready = matched.hits(filter).count();
    match part {
        Part::Endpoint(label) | Part::ClusterEndpoint { endpoint: label, .. } => {
            let label = text(label);
            match matched.hits(filter).next() {
                Some(hit) => format!("{what}: endpoint {label} has address {} ({slices})", hit.address),
                None => format!("{what} and has no ready endpoint {label} ({slices})"),
            }
        }
        Part::Zone { .. } if ready == 0 => {
            format!("{what} and has no ready endpoints in that topology zone ({slices})")
        }
        Part::Port { .. } if ready == 0 => format!("{} ({slices})", no_port(what, part)),
        _ if ready == 0 => format!("{what} and has no ready endpoints ({slices})"),
        _ => format!("{what} and has ready endpoints: {ready} ({slices})"),
    }
}

pub(super) fn no_port(what: &str, part: Part<'_>) -> String {
    match part {
        Part::Port { port, protocol } => {
            format!("{what} has no port {} of protocol {}", text(port), text(protocol))
        }
        _ => format!("{what} has no such port"),
    }
}

pub(super) fn names(slices: &[std::sync::Arc<EndpointSlice>]) -> String {
    match slices {
        [] => "no EndpointSlice".to_owned(),
        [one] => format!("EndpointSlice {}", one.key),
        many => format!("EndpointSlices {}", list(many.iter().map(|slice| &slice.key))),
    }
}

fn pod(lookup: &NameLookup<'_>, object: &ObjectRef<'_>) -> String {
    let mode = lookup.plugin.options.pods;
    if mode == Pods::Disabled {
        return "pod names are not served (pods disabled)".to_owned();
    }
    if let Some(reason) = namespace(lookup.plugin, lookup.snapshot, object.namespace) {
        return reason;
    }
    let shown = text(object.namespace);
    if object.name.is_empty() {
        return format!("namespace {shown} has no records of its own, only names below it");
    }
    let Some(address) = endpoint_name::undashed(object.name) else {
        return format!("{} is not an IP address with dashes", text(object.name));
    };
    if mode == Pods::Insecure {
        return format!("namespace {shown} exists; no check that a pod has {address} (pods insecure)");
    }
    let holder = lookup.snapshot.holders(address).find_map(|holder| match holder {
        Holder::Pod(pod) if pod.key.namespace() == shown => Some(&pod.key),
        _ => None,
    });
    match holder {
        Some(key) => format!("Pod {key} has address {address}"),
        None => format!("no Pod in namespace {shown} has address {address}"),
    }
}

/// The objects that have an address.
fn address_of(lookup: &NameLookup<'_>, address: IpAddr) -> String {
    let of = |what: &str, key: &Key| format!("{what} {key}");
    let holders: Vec<String> = lookup
        .snapshot
        .holders(address)
        .map(|holder| match holder {
            Holder::Service(service) => of("Service", &service.key),
            Holder::Slice(slice) => of("EndpointSlice", &slice.key),
            Holder::Import(import) => of("ServiceImport", &import.key),
            Holder::Pod(pod) => of("Pod", &pod.key),
        })
        .collect();
    match holders.as_slice() {
        [] => format!("no object has address {address}"),
        holders => format!("{address} is an address of {}", list(holders)),
    }
}
