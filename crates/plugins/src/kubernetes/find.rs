//! Looks up the objects that a name refers to.

use std::net::IpAddr;

use cluster::{Entry, Snapshot};
use wire::Name;

use super::filter::Filter;
use super::request::{Grammar, ObjectRef, Part, Request};
use super::service_match::{Hit, ServiceMatch};
use super::{Kubernetes, Zone, apex, pods, wildcards};

/// The lookup of a name in one of our zones, on one snapshot.
#[derive(Clone, Copy)]
pub(super) struct NameLookup<'a> {
    pub plugin: &'a Kubernetes,
    pub snapshot: &'a Snapshot,
    pub zone: &'a Zone,
    /// In lower case.
    pub name: Name<'a>,
    /// Offset of the zone in the name.
    pub at: usize,
}

/// The result of a lookup.
pub(super) enum LookupResult<'a> {
    NoName,
    /// The name has no records, only names below it (RFC 4592 §2.2.2).
    EmptyNonTerminal,
    /// A pod's address, and the number of pods that have it.
    Pod {
        address: IpAddr,
        pods: usize,
    },
    Services(Services<'a>),
}

/// The Services that match a name: one, or several with wildcards.
pub(super) struct Services<'a> {
    pub matches: ServiceMatches<'a>,
    pub filter: Filter<'a>,
    /// The name exists even without addresses.
    pub exists: bool,
}

pub(super) enum ServiceMatches<'a> {
    One(ServiceMatch<'a>),
    Many(Vec<ServiceMatch<'a>>),
}

impl<'a> LookupResult<'a> {
    /// The CNAME target, for an ExternalName.
    pub fn alias(&self) -> Option<&'a str> {
        match self {
            LookupResult::Services(services) => services.alias(),
            _ => None,
        }
    }
}

impl<'a> Services<'a> {
    pub fn all(&self) -> &[ServiceMatch<'a>] {
        match &self.matches {
            ServiceMatches::One(matched) => std::slice::from_ref(matched),
            ServiceMatches::Many(matched) => matched,
        }
    }

    /// The CNAME target, for an ExternalName.
    pub fn alias(&self) -> Option<&'a str> {
        match &self.matches {
            ServiceMatches::One(matched) => matched.alias,
            ServiceMatches::Many(_) => None,
        }
    }

    pub fn hits(&self) -> impl Iterator<Item = Hit<'a>> + '_ {
        self.all().iter().flat_map(|matched| matched.hits(&self.filter))
    }

    /// Whether the name has records of any type.
    pub fn has_records(&self) -> bool {
        self.alias().is_some() || self.hits().next().is_some()
    }

    /// Whether the name exists. One made from endpoints only exists while there are any.
    pub fn name_exists(&self) -> bool {
        self.exists || self.has_records()
    }
}

impl<'a> NameLookup<'a> {
    /// The octets left of the zone, in lower case.
    pub fn front(&self) -> &'a [u8] {
        self.name.wire().get(..self.at).unwrap_or_default()
    }

    pub fn is_apex(&self) -> bool {
        self.at == 0
    }

    pub fn is_name_server(&self) -> bool {
        self.front() == apex::DEFAULT_SERVER
    }

    pub fn is_version(&self) -> bool {
        self.front() == b"\x0bdns-version"
    }

    pub fn request(&self) -> Request<'a> {
        let grammar = Grammar { multicluster: self.zone.is_multicluster, zonal: self.plugin.options.zonal };
        Request::parse(self.front(), grammar)
    }

    pub fn find(&self) -> LookupResult<'a> {
        self.locate().resolve(self)
    }

    /// The index entry of the name, or the result if no entry is needed.
    pub fn locate(&self) -> Location<'a> {
        let no_name = Location::Final(LookupResult::NoName);
        match self.request() {
            Request::Invalid => no_name,
            Request::Apex => Location::Final(LookupResult::EmptyNonTerminal),
            // Reverse zones have PTR records only.
            Request::Service(_) | Request::Pod(_) if self.zone.is_reverse => no_name,
            Request::Service(object) => self.service(object),
            Request::Pod(object) => Location::Final(pods::find(self, &object)),
        }
    }

    fn service(&self, object: ObjectRef<'a>) -> Location<'a> {
        let plugin = self.plugin;
        if plugin.options.wildcards && wildcards::has_wildcard(&object) {
            return Location::Final(wildcards::find(self, &object));
        }
        if !plugin.exposes(self.snapshot, object.namespace) {
            return Location::Final(LookupResult::NoName);
        }
        if object.name.is_empty() {
            return Location::Final(LookupResult::EmptyNonTerminal);
        }
        match self.snapshot.entry(object.key) {
            Some(entry) => Location::Entry(entry, object.part),
            None => Location::Final(LookupResult::NoName),
        }
    }
}

/// The first step of a lookup, before ports and endpoints are selected.
pub(super) enum Location<'a> {
    Final(LookupResult<'a>),
    Entry(&'a Entry, Part<'a>),
}

impl<'a> Location<'a> {
    pub fn resolve(self, lookup: &NameLookup<'a>) -> LookupResult<'a> {
        let (entry, part) = match self {
            Location::Final(found) => return found,
            Location::Entry(entry, part) => (entry, part),
        };
        let plugin = lookup.plugin;
        let filter = Filter::new(part, plugin.options.wildcards);
        let matched = if lookup.zone.is_multicluster {
            ServiceMatch::import(plugin, entry, &filter)
        } else {
            ServiceMatch::service(plugin, entry, &filter)
        };
        match matched {
            // A headless Service has a name in every topology zone, existing or not.
            Some(matched) => {
                let exists = matched.has_own_addresses || filter.zone.is_some();
                LookupResult::Services(Services { matches: ServiceMatches::One(matched), filter, exists })
            }
            None => LookupResult::NoName,
        }
    }

    /// Fast path for most queries: the ClusterIPs, if the name is a Service's own and nothing has to be selected.
    pub fn own_addresses(&self, lookup: &NameLookup<'a>) -> Option<&'a [IpAddr]> {
        match self {
            Location::Entry(entry, Part::All) if !lookup.zone.is_multicluster => {
                lookup.plugin.own_addresses(entry)
            }
            _ => None,
        }
    }
}
