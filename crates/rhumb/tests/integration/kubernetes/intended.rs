//! Intended differences from CoreDNS, one row each as in docs/differences.md.

use std::collections::BTreeSet;
use std::net::IpAddr;

use testkit::client::Outcome;
use testkit::cluster::StoredObjects;
use testkit::cluster::generate::OUTSIDE;
use testkit::cluster::names::reverse;
use testkit::cluster::objects::{label_of, list, name_of, namespace_of, text};
use testkit::compare::{Difference, Line, Options, differences};
use testkit::message::{Message, Record};

use super::{QueryNames, Variant};

const PTR: u16 = 12;

const SERVICE: &str = "kubernetes.io/service-name";
const IMPORTED: &str = "multicluster.kubernetes.io/service-name";

/// The ClusterSet zone in every variant that has one.
const SET: &str = ".clusterset.local.";

/// The objects that cause such differences.
pub struct IntendedDifferences {
    variant: Variant,
    /// `.name.namespace.svc.` of Services with a slice of host names; without `svc` in k8s_external's zones.
    with_host_names: BTreeSet<String>,
    /// `.name.namespace.svc.` of imports without ports.
    without_ports: BTreeSet<String>,
    /// The same of imports with a slice that lacks its source cluster.
    without_cluster: BTreeSet<String>,
    /// Reverse names of the addresses in slices without a Service.
    orphan_addresses: BTreeSet<String>,
}

/// A difference with its question and answers decoded.
struct Case<'a> {
    difference: &'a Difference,
    /// In lower case.
    name: String,
    mixed_case: bool,
    qtype: u16,
    coredns: Option<Message>,
    rhumb: Option<Message>,
}

type Row = (&'static str, fn(&IntendedDifferences, &Case<'_>) -> bool);

const INTENDED: &[Row] = &[
    ("a truncated reply holds whichever records fit", |_, case| case.difference.is_of_truncation()),
    ("EndpointSlices of addressType FQDN are left out", host_names),
    ("PTR for an endpoint in a slice of no Service is answered", orphan_addresses),
    // Its PTR records point to names that end in two dots, which cannot be encoded.
    ("PTR in a block for the root is answered", root),
    ("NS and ns.dns are the same in any case", name_servers),
    ("a ServiceImport without ports has its addresses", import_without_ports),
    ("PTR of what only the cluster set knows", ptr_into_the_set),
    ("ServiceImports are chosen by labels", imports_by_labels),
    ("names longer than 255 octets are left out", too_long),
    (
        "k8s_external: the name of a load balancer is told once, however many ports there are",
        duplicates_removed,
    ),
    ("autopath: the first domain of a search path has its own answers", search_domain),
    ("autopath: a reply has the question's spelling", spelling),
    ("autopath: zone transfers are not searched for", transfer),
    ("SRV of an import whose slice names no cluster is answered", import_of_no_cluster),
    // CoreDNS looks a name up to check its existence, whatever the query type, and caches the result.
    ("an ExternalName is looked up only for the types that show it", cached_earlier),
];

impl IntendedDifferences {
    pub fn new(variant: &Variant, stored: &StoredObjects) -> Self {
        let svc = if matches!(variant.query_names, QueryNames::Outside(_)) { "" } else { "svc." };
        let within = |slice, label| {
            label_of(slice, label).map(|service| format!(".{service}.{}.{svc}", namespace_of(slice)))
        };
        let host_names = stored.slices.iter().filter(|slice| text(slice, "/addressType") == "FQDN");
        let with_host_names = host_names
            .flat_map(|slice| [within(slice, SERVICE), within(slice, IMPORTED)])
            .flatten()
            .collect();
        let imports = stored.imports.iter().filter(|import| list(import, "/spec/ports").is_empty());
        let without_ports =
            imports.map(|import| format!(".{}.{}.svc.", name_of(import), namespace_of(import))).collect();
        let without_cluster = stored
            .slices
            .iter()
            .filter(|slice| label_of(slice, "multicluster.kubernetes.io/source-cluster").is_none())
            .filter_map(|slice| within(slice, IMPORTED))
            .collect();
        let service = |slice| label_of(slice, SERVICE).unwrap_or_default();
        let orphan_addresses = stored
            .slices
            .iter()
            .filter(|slice| service(slice).is_empty())
            .flat_map(|slice| list(slice, "/endpoints"))
            .flat_map(|endpoint| list(endpoint, "/addresses"))
            .filter_map(|address| text(address, "").parse::<IpAddr>().ok())
            .map(|address| reverse(address) + ".")
            .collect();
        Self { variant: *variant, with_host_names, without_ports, without_cluster, orphan_addresses }
    }

    /// The reason why a difference is accepted, if it is.
    pub fn reason(&self, difference: &Difference) -> Option<&'static str> {
        let query = Message::decode(&difference.query.wire);
        let question = query.questions.first()?;
        let name = question.name.to_string();
        let message = |i: usize| difference.outcomes[i].reply().map(Message::decode);
        let case = Case {
            difference,
            mixed_case: name.bytes().any(|byte| byte.is_ascii_uppercase()),
            name: name.to_lowercase(),
            qtype: question.qtype,
            coredns: message(0),
            rhumb: message(1),
        };
        INTENDED.iter().find(|(_, fits)| fits(self, &case)).map(|(reason, _)| *reason)
    }

    /// Whether a name is one of these Services, or below one.
    fn is_within(services: &BTreeSet<String>, name: &str) -> bool {
        let name = format!(".{name}");
        services.iter().any(|service| name.contains(service.as_str()))
    }
}

impl Case<'_> {
    /// Whether all differing lines are records of the given sections.
    fn only_records_differ(&self, sections: &[&str]) -> bool {
        self.difference.lines.iter().all(|line| {
            let (Line::Left(text) | Line::Right(text)) = line;
            sections.iter().any(|section| text.starts_with(section))
        })
    }

    /// The owner names in CoreDNS's answer.
    fn owners(&self) -> impl Iterator<Item = String> {
        let records: &[Record] = self.coredns.as_ref().map_or(&[], |message| &message.answer);
        records.iter().map(|record| record.owner.to_string().to_lowercase())
    }

    /// The second name that *autopath* tries, after the namespace's own domain.
    fn in_second_domain(&self, intended: &IntendedDifferences) -> Option<String> {
        let domains =
            (intended.variant.query_names == QueryNames::SearchPaths).then_some(super::CLIENT_PODS)?;
        let first = domains.iter().map(|(_, namespace)| format!(".{namespace}.svc.cluster.local."));
        let base = first.into_iter().find_map(|domain| self.name.strip_suffix(&domain))?;
        Some(format!("{base}.svc.cluster.local."))
    }

    fn coredns_is_silent(&self) -> bool {
        matches!(self.difference.outcomes[0], Outcome::NoAnswer(_)) && self.rhumb.is_some()
    }
}

/// Queried directly, in the second domain of a search path, or at the end of a CNAME chain.
fn host_names(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    let names = case.owners().chain([case.name.clone()]).chain(case.in_second_domain(intended));
    names.into_iter().any(|name| IntendedDifferences::is_within(&intended.with_host_names, &name))
}

fn orphan_addresses(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    case.qtype == PTR
        && case.coredns_is_silent()
        && intended.orphan_addresses.iter().any(|name| case.name.ends_with(name.as_str()))
}

fn root(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    intended.variant.zones == "." && case.qtype == PTR && case.coredns_is_silent()
}

fn name_servers(_: &IntendedDifferences, case: &Case<'_>) -> bool {
    const NS: u16 = 2;
    let asked = case.name.starts_with("ns.dns.") || case.qtype == NS;
    // Or a name that only starts like this.
    let longer = case.name.starts_with("ns.dns.") && case.name.matches('.').count() > 4;
    asked && (case.mixed_case || longer)
}

fn import_without_ports(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    case.name.ends_with(SET) && IntendedDifferences::is_within(&intended.without_ports, &case.name)
}

fn ptr_into_the_set(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    let Some(rhumb) = &case.rhumb else { return false };
    let denied = case.coredns.as_ref().is_some_and(|message| message.answer.is_empty());
    let line = |record: &Record| record.to_string().to_lowercase().ends_with(SET);
    intended.variant.options.contains("multicluster")
        && case.qtype == PTR
        && (denied || case.coredns_is_silent())
        && !rhumb.answer.is_empty()
        && rhumb.answer.iter().all(line)
}

fn imports_by_labels(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    let selected = intended.variant.options.lines().any(|line| line.trim().starts_with("labels"));
    selected && intended.variant.options.contains("multicluster") && case.name.ends_with(SET)
}

fn import_of_no_cluster(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    const SRV: u16 = 33;
    case.qtype == SRV
        && case.coredns_is_silent()
        && IntendedDifferences::is_within(&intended.without_cluster, &case.name)
}

fn cached_earlier(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    let [coredns, rhumb] = &case.difference.outcomes;
    let options = Options { any_ttl: true, ..Options::default() };
    let outside = |name: String| OUTSIDE.iter().any(|(outside, _)| name.trim_end_matches('.') == *outside);
    intended.variant.others.contains("cache")
        && case.owners().chain([case.name.clone()]).any(outside)
        && differences(coredns, rhumb, &options).is_empty()
}

/// whoami's label makes the longest names too long.
fn too_long(_: &IntendedDifferences, case: &Case<'_>) -> bool {
    // The name in the packet is one octet longer, and `_udp` takes five.
    case.name.len() + 1 + 5 > 255 && case.only_records_differ(&["additional _"])
}

fn duplicates_removed(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    const TC: u16 = 0x0200;
    let (Some(coredns), Some(rhumb)) = (&case.coredns, &case.rhumb) else { return false };
    // CoreDNS's duplicate records may not fit.
    let cut_off = coredns.bits & TC != 0;
    matches!(intended.variant.query_names, QueryNames::Outside(_))
        && (cut_off || case.difference.lines.iter().all(|line| matches!(line, Line::Left(_))))
        && case.only_records_differ(if cut_off { &["answer ", "flags "] } else { &["answer "] })
        && coredns.answer.iter().all(|record| rhumb.answer.contains(record))
        && coredns.answer.len() != rhumb.answer.len()
}

/// CoreDNS fails on the search domain's own name.
fn search_domain(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    const SERVFAIL: u16 = 2;
    let is_domain = super::CLIENT_PODS.iter().any(|(_, it)| case.name == format!("{it}.svc.cluster.local."));
    let failed = case.coredns.as_ref().is_some_and(|message| message.rcode() == SERVFAIL);
    intended.variant.query_names == QueryNames::SearchPaths && is_domain && failed
}

/// For a nonexistent name CoreDNS writes the domain in the question in the case of the search path.
fn spelling(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    intended.variant.query_names == QueryNames::SearchPaths
        && case.mixed_case
        && case.only_records_differ(&["question ", "authority "])
}

fn transfer(intended: &IntendedDifferences, case: &Case<'_>) -> bool {
    const TRANSFERS: [u16; 2] = [251, 252];
    intended.variant.query_names == QueryNames::SearchPaths && TRANSFERS.contains(&case.qtype)
}
