//! Why an answer is what it is, in one line that names the object behind it. Only made when somebody asks.

use std::fmt::Display;
use std::net::IpAddr;

use cluster::object::{EndpointSlice, Service, ServiceImport, ServiceType};
use cluster::{Cluster, Entry, Holder, Key, Kind, Snapshot};
use wire::Rtype;

use super::behind::Behind;
use super::decide::Verdict;
use super::filter::Filter;
use super::find::Ask;
use super::options::Pods;
use super::request::{Asked, Part, Request};
use super::{Kubernetes, endpoint_name, unknown, wildcards};

/// Why an answer is what it is.
pub(super) struct Explanation {
    /// Lines about what is not known of the cluster.
    pub unknown: Vec<String>,
    /// Takes what is not known for absent.
    pub is_false: bool,
    pub reason: String,
}

pub(super) fn explain(ask: &Ask<'_>, qtype: Rtype, cluster: &Cluster, verdict: &Verdict) -> Explanation {
    let lines = |kinds: &[Kind]| unknown::lines(ask.plugin, cluster, ask.snapshot, kinds);
    let unknown = lines(&unknown::needed(ask, qtype));
    let is_false = !unknown.is_empty() && matches!(verdict, Verdict::NoName | Verdict::NoData);
    let unknown = match verdict {
        // No name is denied before all is known.
        Verdict::NoName => lines(&ask.plugin.kinds),
        _ => unknown,
    };
    Explanation { unknown, is_false, reason: reason(ask, qtype) }
}

fn reason(ask: &Ask<'_>, qtype: Rtype) -> String {
    if matches!(qtype, Rtype::AXFR | Rtype::IXFR) {
        return "zones are handed out by the plugin transfer".to_owned();
    }
    if qtype == Rtype::PTR
        && let Some(address) = crate::reverse::address(ask.name)
    {
        return address_of(ask, address);
    }
    let zone = &ask.zone.name;
    if qtype == Rtype::TXT && ask.is_version() {
        return "the version of the specification of these names".to_owned();
    }
    if ask.is_name_server() && !matches!(qtype, Rtype::TXT | Rtype::PTR) {
        return format!("the name server of {zone}");
    }
    match ask.request() {
        Request::Apex if ask.is_apex() => format!("{zone} is the zone itself"),
        Request::Apex => "the name only has others below it".to_owned(),
        Request::Invalid => format!("names in {zone} have another form"),
        Request::Service(_) | Request::Pod(_) if ask.zone.is_reverse => {
            format!("{zone} holds addresses and nothing else")
        }
        Request::Pod(asked) => pod(ask, &asked),
        Request::Service(asked) if ask.plugin.options.wildcards && wildcards::is_asked(&asked) => {
            "all Services that fit the wildcard".to_owned()
        }
        Request::Service(asked) => {
            namespace(ask.plugin, ask.snapshot, asked.namespace).unwrap_or_else(|| service(ask, &asked))
        }
    }
}

pub(super) fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

pub(super) fn list<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(", ")
}

/// What is wrong with a namespace.
pub(super) fn namespace(plugin: &Kubernetes, snapshot: &Snapshot, name: &[u8]) -> Option<String> {
    let shown = text(name);
    if !plugin.options.names(name) {
        return Some(format!("namespace {shown} is not among the namespaces of this block"));
    }
    match snapshot.namespace(name) {
        None => Some(format!("namespace {shown} does not exist")),
        Some(selected) if !selected.by(plugin.joined.namespace_selector) => {
            Some(format!("namespace {shown} does not fit namespace_labels"))
        }
        Some(_) => None,
    }
}

fn service(ask: &Ask<'_>, asked: &Asked<'_>) -> String {
    if asked.name.is_empty() {
        return format!("namespace {} only has names below it", text(asked.namespace));
    }
    let kind = if ask.zone.is_multicluster { "ServiceImport" } else { "Service" };
    let what = format!("{kind} {}/{}", text(asked.namespace), text(asked.name));
    let filter = Filter::new(asked.part, ask.plugin.options.wildcards);
    let Some(entry) = ask.snapshot.entry(asked.key) else { return format!("{what} does not exist") };
    if ask.zone.is_multicluster {
        match (&entry.import, ask.plugin.import(entry)) {
            (_, Some(import)) => of_import(ask, &what, entry, import, asked.part, &filter),
            (Some(_), None) => format!("{what} does not fit labels"),
            (None, None) => format!("{what} does not exist"),
        }
    } else {
        match (&entry.service, ask.plugin.service(entry)) {
            (_, Some(service)) => of_service(ask, &what, entry, service, asked.part, &filter),
            (Some(_), None) => format!("{what} does not fit labels"),
            (None, None) => format!("{what} does not exist"),
        }
    }
}

fn of_service(
    ask: &Ask<'_>,
    what: &str,
    entry: &Entry,
    service: &Service,
    part: Part<'_>,
    filter: &Filter<'_>,
) -> String {
    let slices = ask.plugin.slices(entry);
    let behind = Behind::service(ask.plugin, entry, filter);
    match &service.kind {
        ServiceType::ExternalName(target) if behind.is_some() => {
            format!("{what} is an ExternalName: {target}")
        }
        ServiceType::ExternalName(target) if filter.is_bare() => {
            format!("{what} is an ExternalName, but {target} is no name")
        }
        ServiceType::ExternalName(_) => format!("{what} is an ExternalName and has no names below it"),
        ServiceType::ClusterIp(_) if filter.zone.is_some() => {
            format!("{what} is not headless; only endpoints are in topology zones")
        }
        ServiceType::ClusterIp(addresses) => match behind {
            Some(behind) if behind.is_own => format!("{what} has ClusterIP {}", list(addresses)),
            Some(behind) => of_endpoints(ask, what, slices, &behind, part, filter),
            None if filter.takes_any(&service.ports) => {
                format!("{what} has no ready endpoints, and such Services are ignored ({})", names(slices))
            }
            None => no_port(what, part),
        },
        ServiceType::Headless => match behind {
            Some(behind) => of_endpoints(ask, &format!("{what} is headless"), slices, &behind, part, filter),
            None => format!("{what} has no such name"),
        },
    }
}

fn of_import(
    ask: &Ask<'_>,
    what: &str,
    entry: &Entry,
    import: &ServiceImport,
    part: Part<'_>,
    filter: &Filter<'_>,
) -> String {
    match Behind::import(ask.plugin, entry, filter) {
        Some(behind) if behind.is_own => format!("{what} has clusterset IP {}", list(&import.ips)),
        Some(behind) => of_endpoints(ask, what, &entry.imported, &behind, part, filter),
        None if filter.takes_any(&import.ports) => format!("{what} has no ready endpoints"),
        None => no_port(what, part),
    }
}

fn of_endpoints(
    ask: &Ask<'_>,
    what: &str,
    slices: &[std::sync::Arc<EndpointSlice>],
    behind: &Behind<'_>,
    part: Part<'_>,
    filter: &Filter<'_>,
) -> String {
    if !ask.plugin.options.endpoints && !ask.zone.is_multicluster {
        return format!("{what}, and endpoints are not watched (noendpoints)");
    }
    let slices = names(slices);
    let ready = behind.hits(filter).count();
    match part {
        Part::Endpoint(label) | Part::Member { endpoint: label, .. } => {
            let label = text(label);
            match behind.hits(filter).next() {
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

fn pod(ask: &Ask<'_>, asked: &Asked<'_>) -> String {
    let mode = ask.plugin.options.pods;
    if mode == Pods::Disabled {
        return "names of pods are not answered (pods disabled)".to_owned();
    }
    if let Some(wrong) = namespace(ask.plugin, ask.snapshot, asked.namespace) {
        return wrong;
    }
    let shown = text(asked.namespace);
    if asked.name.is_empty() {
        return format!("namespace {shown} only has names below it");
    }
    let Some(address) = endpoint_name::undashed(asked.name) else {
        return format!("{} is no address", text(asked.name));
    };
    if mode == Pods::Insecure {
        return format!(
            "namespace {shown} exists; whether a pod has {address} is not checked (pods insecure)"
        );
    }
    let holder = ask.snapshot.holders(address).find_map(|holder| match holder {
        Holder::Pod(pod) if pod.key.namespace() == shown => Some(&pod.key),
        _ => None,
    });
    match holder {
        Some(key) => format!("Pod {key} has address {address}"),
        None => format!("no Pod in namespace {shown} has address {address}"),
    }
}

/// Who has an address.
fn address_of(ask: &Ask<'_>, address: IpAddr) -> String {
    let of = |what: &str, key: &Key| format!("{what} {key}");
    let holders: Vec<String> = ask
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
        [] => format!("nobody has address {address}"),
        holders => format!("{address} is an address of {}", list(holders)),
    }
}
