//! Differences from CoreDNS that are meant to be: one row each, as docs/differences.md has them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use testkit::client::Outcome;
use testkit::cluster::Stored;
use testkit::cluster::generate::OUTSIDE;
use testkit::cluster::names::reverse;
use testkit::cluster::objects::{label_of, list, name_of, namespace_of, text};
use testkit::compare::{Difference, Line, Options, differences};
use testkit::message::{Message, Record};

use super::{Asks, Variant};

const PTR: u16 = 12;

const SERVICE: &str = "kubernetes.io/service-name";
const IMPORTED: &str = "multicluster.kubernetes.io/service-name";

/// Zone of the cluster set in every variant that has one.
const SET: &str = ".clusterset.local.";

/// Knows the objects that are behind such differences.
pub struct Meant {
    variant: Variant,
    /// `.name.namespace.svc.` of what has a slice of host names; without `svc` if names outside are asked for.
    with_host_names: BTreeSet<String>,
    /// `.name.namespace.svc.` of imports without ports.
    without_ports: BTreeSet<String>,
    /// The same of imports with a slice that does not say where it comes from.
    without_cluster: BTreeSet<String>,
    /// Names of the addresses in slices of no Service.
    nobodys: BTreeSet<String>,
}

/// A difference with its question and answers taken apart.
struct Case<'a> {
    difference: &'a Difference,
    /// In lower case.
    name: String,
    mixed_case: bool,
    qtype: u16,
    coredns: Option<Message>,
    rhumb: Option<Message>,
}

type Row = (&'static str, fn(&Meant, &Case<'_>) -> bool);

const MEANT: &[Row] = &[
    ("a truncated reply holds whichever records fit", |_, case| case.difference.is_of_truncation()),
    ("EndpointSlices of addressType FQDN are left out", host_names),
    ("PTR for an endpoint in a slice of no Service is answered", nobodys),
    // Its PTR records point to names with two dots at the end, which cannot be packed.
    ("PTR in a block for the root is answered", root),
    ("NS and ns.dns are the same in any case", name_servers),
    ("a ServiceImport without ports has its addresses", import_without_ports),
    ("PTR of what only the cluster set knows", ptr_into_the_set),
    ("ServiceImports are chosen by labels", imports_by_labels),
    ("names longer than 255 octets are left out", too_long),
    ("k8s_external: the name of a load balancer is told once, however many ports there are", told_once),
    ("autopath: the first domain of a search path has its own answers", search_domain),
    ("autopath: a reply has the question's spelling", spelling),
    ("autopath: zone transfers are not searched for", transfer),
    ("SRV of an import whose slice names no cluster is answered", import_of_no_cluster),
    // To learn whether a name exists CoreDNS looks it up, whatever was asked, and its cache keeps what it found.
    ("an ExternalName is looked up only for the types that show it", cached_earlier),
];

impl Meant {
    pub fn new(variant: &Variant, stored: &Stored) -> Self {
        let svc = if matches!(variant.asks, Asks::Outside(_)) { "" } else { "svc." };
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
        let nobodys = stored
            .slices
            .iter()
            .filter(|slice| service(slice).is_empty())
            .flat_map(|slice| list(slice, "/endpoints"))
            .flat_map(|endpoint| list(endpoint, "/addresses"))
            .filter_map(|address| text(address, "").parse::<IpAddr>().ok())
            .map(|address| reverse(address) + ".")
            .collect();
        Self { variant: *variant, with_host_names, without_ports, without_cluster, nobodys }
    }

    /// Why a difference is accepted, if it is.
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
        MEANT.iter().find(|(_, fits)| fits(self, &case)).map(|(reason, _)| *reason)
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

    /// Names that the answers of CoreDNS belong to.
    fn owners(&self) -> impl Iterator<Item = String> {
        let records: &[Record] = self.coredns.as_ref().map_or(&[], |message| &message.answer);
        records.iter().map(|record| record.owner.to_string().to_lowercase())
    }

    /// What *autopath* asks for if the first domain, which is a namespace, has no such name.
    fn in_second_domain(&self, meant: &Meant) -> Option<String> {
        let domains = (meant.variant.asks == Asks::SearchPaths).then_some(super::ASKING)?;
        let first = domains.iter().map(|(_, namespace)| format!(".{namespace}.svc.cluster.local."));
        let base = first.into_iter().find_map(|domain| self.name.strip_suffix(&domain))?;
        Some(format!("{base}.svc.cluster.local."))
    }

    fn coredns_is_silent(&self) -> bool {
        matches!(self.difference.outcomes[0], Outcome::NoAnswer(_)) && self.rhumb.is_some()
    }
}

/// Asked for, found in the second domain of a search path, or at the end of a chain of names.
fn host_names(meant: &Meant, case: &Case<'_>) -> bool {
    let names = case.owners().chain([case.name.clone()]).chain(case.in_second_domain(meant));
    names.into_iter().any(|name| Meant::is_within(&meant.with_host_names, &name))
}

fn nobodys(meant: &Meant, case: &Case<'_>) -> bool {
    case.qtype == PTR
        && case.coredns_is_silent()
        && meant.nobodys.iter().any(|name| case.name.ends_with(name.as_str()))
}

fn root(meant: &Meant, case: &Case<'_>) -> bool {
    meant.variant.zones == "." && case.qtype == PTR && case.coredns_is_silent()
}

fn name_servers(_: &Meant, case: &Case<'_>) -> bool {
    const NS: u16 = 2;
    let asked = case.name.starts_with("ns.dns.") || case.qtype == NS;
    // Or a name that only begins so.
    let longer = case.name.starts_with("ns.dns.") && case.name.matches('.').count() > 4;
    asked && (case.mixed_case || longer)
}

fn import_without_ports(meant: &Meant, case: &Case<'_>) -> bool {
    case.name.ends_with(SET) && Meant::is_within(&meant.without_ports, &case.name)
}

fn ptr_into_the_set(meant: &Meant, case: &Case<'_>) -> bool {
    let Some(rhumb) = &case.rhumb else { return false };
    let denied = case.coredns.as_ref().is_some_and(|message| message.answer.is_empty());
    let line = |record: &Record| record.to_string().to_lowercase().ends_with(SET);
    meant.variant.options.contains("multicluster")
        && case.qtype == PTR
        && (denied || case.coredns_is_silent())
        && !rhumb.answer.is_empty()
        && rhumb.answer.iter().all(line)
}

fn imports_by_labels(meant: &Meant, case: &Case<'_>) -> bool {
    let selected = meant.variant.options.lines().any(|line| line.trim().starts_with("labels"));
    selected && meant.variant.options.contains("multicluster") && case.name.ends_with(SET)
}

fn import_of_no_cluster(meant: &Meant, case: &Case<'_>) -> bool {
    const SRV: u16 = 33;
    case.qtype == SRV && case.coredns_is_silent() && Meant::is_within(&meant.without_cluster, &case.name)
}

fn cached_earlier(meant: &Meant, case: &Case<'_>) -> bool {
    let [coredns, rhumb] = &case.difference.outcomes;
    let options = Options { any_ttl: true, ..Options::default() };
    let outside = |name: String| OUTSIDE.iter().any(|(outside, _)| name.trim_end_matches('.') == *outside);
    meant.variant.others.contains("cache")
        && case.owners().chain([case.name.clone()]).any(outside)
        && differences(coredns, rhumb, &options).is_empty()
}

/// What whoami puts in front of the longest names.
fn too_long(_: &Meant, case: &Case<'_>) -> bool {
    // The name in the packet is one octet longer, and `_udp` takes five.
    case.name.len() + 1 + 5 > 255 && case.only_records_differ(&["additional _"])
}

fn told_once(meant: &Meant, case: &Case<'_>) -> bool {
    const TC: u16 = 0x0200;
    let (Some(coredns), Some(rhumb)) = (&case.coredns, &case.rhumb) else { return false };
    // What is told twice may not fit.
    let cut_off = coredns.bits & TC != 0;
    matches!(meant.variant.asks, Asks::Outside(_))
        && (cut_off || case.difference.lines.iter().all(|line| matches!(line, Line::Left(_))))
        && case.only_records_differ(if cut_off { &["answer ", "flags "] } else { &["answer "] })
        && coredns.answer.iter().all(|record| rhumb.answer.contains(record))
        && coredns.answer.len() != rhumb.answer.len()
}

/// CoreDNS fails on the name of the domain itself.
fn search_domain(meant: &Meant, case: &Case<'_>) -> bool {
    const SERVFAIL: u16 = 2;
    let is_domain = super::ASKING.iter().any(|(_, it)| case.name == format!("{it}.svc.cluster.local."));
    let failed = case.coredns.as_ref().is_some_and(|message| message.rcode() == SERVFAIL);
    meant.variant.asks == Asks::SearchPaths && is_domain && failed
}

/// CoreDNS spells the domain in the question as the search path has it, if nobody has the name.
fn spelling(meant: &Meant, case: &Case<'_>) -> bool {
    meant.variant.asks == Asks::SearchPaths
        && case.mixed_case
        && case.only_records_differ(&["question ", "authority "])
}

fn transfer(meant: &Meant, case: &Case<'_>) -> bool {
    const TRANSFERS: [u16; 2] = [251, 252];
    meant.variant.asks == Asks::SearchPaths && TRANSFERS.contains(&case.qtype)
}
