//! The zone apex: its SOA record and its name servers.
//!
//! A name server is a Service whose endpoints include an address of this process; outside of a cluster it is
//! `ns.dns.ZONE` with the addresses of this machine.

use std::net::IpAddr;

use cluster::object::{EndpointSlice, Service, ServiceType};
use cluster::{Holder, Key, Snapshot};
use wire::{Class, Flags, Name, Owner, Query, Question, Rcode, Reply, Rtype, Section};

use super::Kubernetes;
use super::find::NameLookup;
use super::service_match::Hit;
use super::target::{Target, TargetKey, owner};
use crate::messages::distinct::Distinct;
use crate::messages::records::push_address;

const REFRESH: u32 = 7200;
const RETRY: u32 = 1800;
const EXPIRE: u32 = 86400;
/// Labels of the default name server, `ns.dns.ZONE`.
pub(super) const DEFAULT_SERVER: &[u8] = b"\x02ns\x03dns";
const MAILBOX: &[u8] = b"\x0ahostmaster";
const MAX_NAME: usize = 255;
/// Upper bound of an SOA record's TTL.
const MAX_TTL: u32 = 300;

/// The variable parts of an SOA record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Soa {
    /// Offset of the zone in the question's name.
    at: usize,
    serial: u32,
    ttl: u32,
}

impl Soa {
    pub fn of(lookup: &NameLookup<'_>) -> Self {
        let modified = lookup.snapshot.modified();
        let serial = if lookup.zone.is_multicluster { modified.multicluster } else { modified.internal };
        Self { at: lookup.at, serial, ttl: lookup.plugin.options.ttl }
    }

    /// Writes a negative reply; its SOA record carries the negative TTL (RFC 2308).
    pub fn deny(self, query: &Query, reply: &mut Reply, rcode: Rcode) {
        reply.begin_error(query, rcode);
        reply.flags.set(Flags::AA, true);
        self.push_to(reply, Section::Authority, &query.question);
    }

    pub fn push_to(self, reply: &mut Reply, section: Section, question: &Question) {
        let zone = question.name().wire().get(self.at..).unwrap_or_default();
        // A zone name too long for `hostmaster.ZONE` has no SOA record.
        if MAILBOX.len() + zone.len() > MAX_NAME {
            return;
        }
        let (owner, ttl) = (Owner::Question(self.at as u8), self.ttl.min(MAX_TTL));
        reply.push_with(section, owner, Rtype::SOA, Class::IN, ttl, |out| {
            out.bytes(DEFAULT_SERVER).bytes(zone).bytes(MAILBOX).bytes(zone).u32(self.serial);
            out.u32(REFRESH).u32(RETRY).u32(EXPIRE).u32(self.ttl);
        });
    }
}

/// Writes the NS records, and the servers' addresses as additional records.
pub(super) fn name_servers(lookup: &NameLookup<'_>, question: &Question, reply: &mut Reply) {
    let options = &lookup.plugin.options;
    let zone = question.name().wire();
    let pod_names = options.endpoint_pod_names;
    let mut target = Target::new();
    let mut seen = Distinct::new();
    each_server(lookup, |hit, _| {
        let target_key = hit.map(|hit| TargetKey::of(&hit, pod_names));
        if !seen.insert(target_key) {
            return;
        }
        let Some(name) = name_server(target_key, &mut target, zone) else { return };
        reply.push_with(Section::Answer, Owner::Question(0), Rtype::NS, Class::IN, options.ttl, |out| {
            out.name(name);
        });
    });
    each_server(lookup, |hit, address| {
        let target_key = hit.map(|hit| TargetKey::of(&hit, pod_names));
        let Some(name) = name_server(target_key, &mut target, zone) else { return };
        let owner = owner(reply, question, name);
        push_address(reply, Section::Additional, owner, options.ttl, address);
    });
}

/// None if the name is too long.
fn name_server<'t>(key: Option<TargetKey<'_>>, target: &'t mut Target, zone: &[u8]) -> Option<Name<'t>> {
    match key {
        Some(target_key) => target_key.name_in(target, zone),
        None => {
            target.clear().octets(DEFAULT_SERVER)?.octets(zone)?;
            target.name()
        }
    }
}

/// The addresses of `ns.dns.ZONE`.
pub(super) fn addresses(lookup: &NameLookup<'_>) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    each_server(lookup, |_, address| addresses.push(address));
    addresses
}

/// Calls `take` with every address of every name server; the hit is None for `ns.dns.ZONE`.
fn each_server<'a>(lookup: &NameLookup<'a>, mut take: impl FnMut(Option<Hit<'a>>, IpAddr)) {
    let found = lookup.plugin.own_services(lookup.snapshot, |service, slice| match &service.kind {
        ServiceType::ClusterIp(addresses) => {
            addresses.iter().for_each(|address| take(Some(service_hit(&service.key, *address)), *address));
        }
        ServiceType::Headless => {
            for endpoint in slice.endpoints.iter() {
                let hit = Hit { endpoint: Some(endpoint), ..service_hit(&service.key, endpoint.address) };
                take(Some(hit), endpoint.address);
            }
        }
        ServiceType::ExternalName(_) => {}
    });
    if !found {
        lookup.plugin.local_addresses().iter().for_each(|address| take(None, *address));
    }
}

impl Kubernetes {
    /// Calls `take` with each Service whose endpoints include an address of this process, and the slice that has it.
    /// False if no slice does.
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

fn service_hit(key: &Key, address: IpAddr) -> Hit<'_> {
    Hit { key, address, ports: &[], endpoint: None, cluster: "" }
}

/// The addresses clients can reach this process at: those it is bound to, or all of the machine's, without loopback.
pub(super) fn local_addresses(bound: &[Option<IpAddr>]) -> Vec<IpAddr> {
    let everywhere = bound.iter().any(|ip| ip.is_none_or(|ip| ip.is_unspecified()));
    let mut addresses: Vec<IpAddr> = if everywhere {
        // Without a list of interfaces the reply has no name server addresses.
        let interfaces = net::interfaces().unwrap_or_default();
        interfaces.iter().flat_map(|interface| &interface.addrs).map(|addr| addr.ip()).collect()
    } else {
        bound.iter().copied().flatten().collect()
    };
    addresses.retain(|address| !address.is_loopback());
    let mut seen = Distinct::new();
    addresses.retain(|address| seen.insert(*address));
    addresses
}
