//! The zone itself: its SOA record and its name servers.
//!
//! A name server is a Service whose endpoints include an address of this process; outside of a cluster it is
//! `ns.dns.ZONE` with the addresses of this machine.

use std::net::IpAddr;

use cluster::object::{EndpointSlice, Service, ServiceType};
use cluster::{Holder, Key, Snapshot};
use wire::{Class, Flags, Name, Owner, Query, Question, Rcode, Reply, Rtype, Section};

use super::Kubernetes;
use super::behind::Hit;
use super::find::Ask;
use super::target::{Identity, Target, owner};
use crate::distinct::Distinct;
use crate::records::push_address;

const REFRESH: u32 = 7200;
const RETRY: u32 = 1800;
const EXPIRE: u32 = 86400;
/// The name server of a zone that has no better one.
pub(super) const DEFAULT: &[u8] = b"\x02ns\x03dns";
const MAILBOX: &[u8] = b"\x0ahostmaster";
const MOST_NAME: usize = 255;
/// No SOA record lives longer.
const MOST_TTL: u32 = 300;

/// What an SOA record tells beside the zone's name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Soa {
    /// Where the zone begins in the question's name.
    at: usize,
    serial: u32,
    ttl: u32,
}

impl Soa {
    pub fn of(ask: &Ask<'_>) -> Self {
        let modified = ask.snapshot.modified();
        let serial = if ask.zone.is_multicluster { modified.multicluster } else { modified.internal };
        Self { at: ask.at, serial, ttl: ask.plugin.options.ttl }
    }

    /// Says that there is nothing, and for how long that may be remembered.
    pub fn deny(self, query: &Query, reply: &mut Reply, rcode: Rcode) {
        reply.begin_error(query, rcode);
        reply.flags.set(Flags::AA, true);
        self.push_to(reply, Section::Authority, &query.question);
    }

    pub fn push_to(self, reply: &mut Reply, section: Section, question: &Question) {
        let zone = question.name().wire().get(self.at..).unwrap_or_default();
        // A zone that leaves no room for the names in it has no SOA record.
        if MAILBOX.len() + zone.len() > MOST_NAME {
            return;
        }
        let (owner, ttl) = (Owner::Question(self.at as u8), self.ttl.min(MOST_TTL));
        reply.push_with(section, owner, Rtype::SOA, Class::IN, ttl, |out| {
            out.bytes(DEFAULT).bytes(zone).bytes(MAILBOX).bytes(zone).u32(self.serial);
            out.u32(REFRESH).u32(RETRY).u32(EXPIRE).u32(self.ttl);
        });
    }
}

/// The name servers, and their addresses beside them.
pub(super) fn name_servers(ask: &Ask<'_>, question: &Question, reply: &mut Reply) {
    let options = &ask.plugin.options;
    let zone = question.name().wire();
    let pod_names = options.endpoint_pod_names;
    let mut target = Target::new();
    let mut seen = Distinct::new();
    each(ask, |hit, _| {
        let identity = hit.map(|hit| Identity::of(&hit, pod_names));
        if !seen.is_new(identity) {
            return;
        }
        let Some(name) = name_server(identity, &mut target, zone) else { return };
        reply.push_with(Section::Answer, Owner::Question(0), Rtype::NS, Class::IN, options.ttl, |out| {
            out.name(name);
        });
    });
    each(ask, |hit, address| {
        let identity = hit.map(|hit| Identity::of(&hit, pod_names));
        let Some(name) = name_server(identity, &mut target, zone) else { return };
        let owner = owner(reply, question, name);
        push_address(reply, Section::Additional, owner, options.ttl, address);
    });
}

/// None if it would be too long.
fn name_server<'t>(of: Option<Identity<'_>>, target: &'t mut Target, zone: &[u8]) -> Option<Name<'t>> {
    match of {
        Some(identity) => identity.name_in(target, zone),
        None => {
            target.clear().octets(DEFAULT)?.octets(zone)?;
            target.name()
        }
    }
}

/// The addresses behind `ns.dns.ZONE`.
pub(super) fn addresses(ask: &Ask<'_>) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    each(ask, |_, address| addresses.push(address));
    addresses
}

/// Every address of every name server; no hit for `ns.dns.ZONE`.
fn each<'a>(ask: &Ask<'a>, mut take: impl FnMut(Option<Hit<'a>>, IpAddr)) {
    let found = ask.plugin.own_services(ask.snapshot, |service, slice| match &service.kind {
        ServiceType::ClusterIp(addresses) => {
            addresses.iter().for_each(|address| take(Some(own(&service.key, *address)), *address));
        }
        ServiceType::Headless => {
            for endpoint in slice.endpoints.iter() {
                let hit = Hit { endpoint: Some(endpoint), ..own(&service.key, endpoint.address) };
                take(Some(hit), endpoint.address);
            }
        }
        ServiceType::ExternalName(_) => {}
    });
    if !found {
        ask.plugin.local_addresses().iter().for_each(|address| take(None, *address));
    }
}

impl Kubernetes {
    /// The Services whose endpoints include an address of this process, each with the slice that says so. False if
    /// no slice does.
    pub(super) fn own_services<'s>(
        &self,
        snapshot: &'s Snapshot,
        mut take: impl FnMut(&'s Service, &'s EndpointSlice),
    ) -> bool {
        let mut found = false;
        for address in self.local_addresses() {
            for holder in snapshot.holders(*address) {
                let Holder::Slice(slice) = holder else { continue };
                if !self.options.endpoints || !slice.selected.by(self.joined.selector) {
                    continue;
                }
                found = true;
                let entry = slice.service.as_ref().and_then(|key| snapshot.entry(key.as_bytes()));
                if let Some(service) = entry.and_then(|entry| self.service(entry)) {
                    take(service, slice);
                }
            }
        }
        found
    }
}

fn own(key: &Key, address: IpAddr) -> Hit<'_> {
    Hit { key, address, ports: &[], endpoint: None, cluster: "" }
}

/// The addresses a client may know this process by: those it is bound to, or all of the machine's but the loopback.
pub(super) fn local_addresses(bound: &[Option<IpAddr>]) -> Vec<IpAddr> {
    let everywhere = bound.iter().any(|ip| ip.is_none_or(|ip| ip.is_unspecified()));
    let mut addresses: Vec<IpAddr> = if everywhere {
        // Without a list of interfaces there is no name server to name, which harms nobody.
        let interfaces = net::interfaces().unwrap_or_default();
        interfaces.iter().flat_map(|interface| &interface.addrs).map(|addr| addr.ip()).collect()
    } else {
        bound.iter().copied().flatten().collect()
    };
    addresses.retain(|address| !address.is_loopback());
    let mut seen = Distinct::new();
    addresses.retain(|address| seen.is_new(*address));
    addresses
}
