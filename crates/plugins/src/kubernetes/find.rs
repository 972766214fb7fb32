//! From a name to what is behind it.

use std::net::IpAddr;

use cluster::{Entry, Snapshot};
use wire::Name;

use super::behind::{Behind, Hit};
use super::filter::Filter;
use super::request::{Asked, Grammar, Part, Request};
use super::{Kubernetes, Zone, apex, pods, wildcards};

/// A name of one of our zones, on one snapshot.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub plugin: &'a Kubernetes,
    pub snapshot: &'a Snapshot,
    pub zone: &'a Zone,
    /// In lower case.
    pub name: Name<'a>,
    /// The octets left of the zone.
    pub at: usize,
}

/// What a name stands for.
pub(super) enum Found<'a> {
    /// There is no such name.
    Nothing,
    /// The name is there, for the sake of others below it.
    Empty,
    /// So many pods have the address.
    Pod {
        address: IpAddr,
        pods: usize,
    },
    Services(Services<'a>),
}

/// The Services a name stands for: one, but for wildcards.
pub(super) struct Services<'a> {
    pub behind: Behinds<'a>,
    pub filter: Filter<'a>,
    /// The name is there even if no address is.
    pub exists: bool,
}

pub(super) enum Behinds<'a> {
    One(Behind<'a>),
    Many(Vec<Behind<'a>>),
}

impl<'a> Found<'a> {
    /// The other name, if it stands for one.
    pub fn alias(&self) -> Option<&'a str> {
        match self {
            Found::Services(services) => services.alias(),
            _ => None,
        }
    }
}

impl<'a> Services<'a> {
    pub fn all(&self) -> &[Behind<'a>] {
        match &self.behind {
            Behinds::One(behind) => std::slice::from_ref(behind),
            Behinds::Many(behind) => behind,
        }
    }

    /// The other name, if it stands for one.
    pub fn alias(&self) -> Option<&'a str> {
        match &self.behind {
            Behinds::One(behind) => behind.alias,
            Behinds::Many(_) => None,
        }
    }

    pub fn hits(&self) -> impl Iterator<Item = Hit<'a>> + '_ {
        self.all().iter().flat_map(|behind| behind.hits(&self.filter))
    }

    /// Whether there are records of some type under the name.
    pub fn has_records(&self) -> bool {
        self.alias().is_some() || self.hits().next().is_some()
    }

    /// Whether the name is there. Endpoints come and go, and names that live of them alone with them.
    pub fn is_there(&self) -> bool {
        self.exists || self.has_records()
    }
}

impl<'a> Ask<'a> {
    /// The octets left of the zone, in lower case.
    pub fn front(&self) -> &'a [u8] {
        self.name.wire().get(..self.at).unwrap_or_default()
    }

    pub fn is_apex(&self) -> bool {
        self.at == 0
    }

    pub fn is_name_server(&self) -> bool {
        self.front() == apex::DEFAULT
    }

    pub fn is_version(&self) -> bool {
        self.front() == b"\x0bdns-version"
    }

    pub fn request(&self) -> Request<'a> {
        let grammar = Grammar { multicluster: self.zone.is_multicluster, zonal: self.plugin.options.zonal };
        Request::read(self.front(), grammar)
    }

    pub fn find(&self) -> Found<'a> {
        self.locate().found(self)
    }

    /// The entry that a name is about, or already all there is to say.
    pub fn locate(&self) -> Located<'a> {
        let nothing = Located::Found(Found::Nothing);
        match self.request() {
            Request::Invalid => nothing,
            Request::Apex => Located::Found(Found::Empty),
            // Reverse zones hold nothing but PTR records.
            Request::Service(_) | Request::Pod(_) if self.zone.is_reverse => nothing,
            Request::Service(asked) => self.service(asked),
            Request::Pod(asked) => Located::Found(pods::find(self, &asked)),
        }
    }

    fn service(&self, asked: Asked<'a>) -> Located<'a> {
        let plugin = self.plugin;
        if plugin.options.wildcards && wildcards::is_asked(&asked) {
            return Located::Found(wildcards::find(self, &asked));
        }
        if !plugin.exposes(self.snapshot, asked.namespace) {
            return Located::Found(Found::Nothing);
        }
        if asked.name.is_empty() {
            return Located::Found(Found::Empty);
        }
        match self.snapshot.entry(asked.key) {
            Some(entry) => Located::Entry(entry, asked.part),
            None => Located::Found(Found::Nothing),
        }
    }
}

/// How far a name leads before its part of a Service is looked at.
pub(super) enum Located<'a> {
    Found(Found<'a>),
    Entry(&'a Entry, Part<'a>),
}

impl<'a> Located<'a> {
    pub fn found(self, ask: &Ask<'a>) -> Found<'a> {
        let (entry, part) = match self {
            Located::Found(found) => return found,
            Located::Entry(entry, part) => (entry, part),
        };
        let plugin = ask.plugin;
        let filter = Filter::new(part, plugin.options.wildcards);
        let behind = if ask.zone.is_multicluster {
            Behind::import(plugin, entry, &filter)
        } else {
            Behind::service(plugin, entry, &filter)
        };
        match behind {
            // A headless Service has a name in every topology zone, those that nobody knows included.
            Some(behind) => {
                let exists = behind.is_own || filter.zone.is_some();
                Found::Services(Services { behind: Behinds::One(behind), filter, exists })
            }
            None => Found::Nothing,
        }
    }

    /// The addresses of an ordinary Service, if nothing but its name is asked for: most questions are of this kind, and
    /// nothing has to be chosen for them.
    pub fn own_addresses(&self, ask: &Ask<'a>) -> Option<&'a [IpAddr]> {
        match self {
            Located::Entry(entry, Part::All) if !ask.zone.is_multicluster => ask.plugin.own_addresses(entry),
            _ => None,
        }
    }
}
