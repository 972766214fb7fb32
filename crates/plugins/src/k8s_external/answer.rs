//! Writes the records of Services: A, AAAA, SRV, and PTR for an address.

use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::quality::RandomState;
use server::Visit;
use wire::{Class, Name, NameBuf, Owner, Query, Reply, Rtype, Section};

use super::services::{Existence, ExternalEndpoint, ExternalServices, ExternalTarget};
use super::{K8sExternal, Zone, explain};
use crate::messages::distinct::Distinct;
use crate::messages::records::{push_address, push_srv, rtype, srv_weight};

/// More records than fit into any message; further ones would only be truncated.
const MAX_RECORDS: usize = 4700;

/// The result of a lookup.
pub(super) struct ServiceLookup {
    pub existence: Existence,
    /// Distinct hostnames of load balancers, to be looked up.
    pub aliases: Vec<NameBuf>,
}

impl K8sExternal {
    /// Writes the records of a Service's name. The reply must be begun.
    pub fn services(
        &self,
        query: &Query,
        reply: &mut Reply,
        outside: &dyn ExternalServices,
        zone: &Zone,
        front: &[u8],
    ) -> ServiceLookup {
        match query.question.qtype {
            qtype @ (Rtype::A | Rtype::AAAA) => self.addresses(reply, outside, front, qtype),
            Rtype::SRV => self.srv(reply, outside, zone, front),
            _ => {
                let existence = outside.find(front, self.headless, &mut |_| {});
                ServiceLookup { existence, aliases: Vec::new() }
            }
        }
    }

    /// Writes each address once; hostnames become aliases.
    fn addresses(
        &self,
        reply: &mut Reply,
        outside: &dyn ExternalServices,
        front: &[u8],
        qtype: Rtype,
    ) -> ServiceLookup {
        let mut aliases = Vec::new();
        let mut seen = Distinct::new();
        let existence = outside.find(front, self.headless, &mut |reached| match reached.target {
            ExternalTarget::Address(address) if rtype(address) == qtype && seen.insert(address) => {
                push_address(reply, Section::Answer, Owner::Question(0), self.ttl, address);
            }
            ExternalTarget::Address(_) => {}
            // An invalid hostname is skipped.
            ExternalTarget::Host(host) => {
                aliases.extend(NameBuf::parse(host).ok().filter(|it| !aliases.contains(it)))
            }
        });
        ServiceLookup { existence, aliases }
    }

    /// Writes one SRV record per port and target, and the targets' addresses as additional records.
    fn srv(
        &self,
        reply: &mut Reply,
        outside: &dyn ExternalServices,
        zone: &Zone,
        front: &[u8],
    ) -> ServiceLookup {
        let mut candidates = 0;
        let existence = outside.find(front, self.headless, &mut |_| candidates += 1);
        let (weight, ttl) = (srv_weight(candidates), outside.ttl());
        let mut aliases = Vec::new();
        // Targets are compared by hash: `reached` does not live longer than a call.
        let (hashes, mut ports, mut addresses) = (RandomState::default(), Distinct::new(), Distinct::new());
        outside.find(front, self.headless, &mut |reached| {
            let Some(port) = reached.port else { return };
            if reply.records().len() >= MAX_RECORDS {
                return;
            }
            let Some(target) = target(&reached, zone) else { return };
            if ports.insert(hashes.hash_one((target.wire(), port))) {
                push_srv(reply, ttl, weight, port, target.as_name());
            }
            match reached.target {
                ExternalTarget::Address(address)
                    if addresses.insert(hashes.hash_one((target.wire(), address))) =>
                {
                    let owner = reply.store(target.as_name());
                    push_address(reply, Section::Additional, owner, self.ttl, address);
                }
                ExternalTarget::Address(_) => {}
                ExternalTarget::Host(_) if aliases.contains(&target) => {}
                ExternalTarget::Host(_) => aliases.push(target),
            }
        });
        ServiceLookup { existence, aliases }
    }

    /// Writes the PTR records of an address.
    pub fn names(&self, visit: &mut Visit<'_>, outside: &dyn ExternalServices, address: IpAddr) -> Existence {
        // Names point into the first zone, whichever reverse zone the query is in.
        let Some(zone) = self.zones.first() else { return Existence::Absent };
        let (mut found, reply) = (false, &mut *visit.reply);
        let complete = outside.names_of(address, &mut |front| {
            found = true;
            if let Some(name) = name_in_zone(front, zone) {
                reply.push_with(
                    Section::Answer,
                    Owner::Question(0),
                    Rtype::PTR,
                    Class::IN,
                    self.ttl,
                    |out| {
                        out.name(name.as_name());
                    },
                );
            }
        });
        let existence = match (found, complete) {
            (true, _) => Existence::Exists,
            (false, true) => Existence::Absent,
            (false, false) => Existence::Unknown,
        };
        explain(visit, outside, existence, |_| names_of(outside, address));
        existence
    }
}

/// The target of an SRV record.
fn target(reached: &ExternalEndpoint<'_>, zone: &Zone) -> Option<NameBuf> {
    match reached.target {
        ExternalTarget::Address(_) => name_in_zone(reached.front, zone),
        ExternalTarget::Host(host) => NameBuf::parse(host).ok(),
    }
}

/// The name in the zone. None if it is too long or invalid.
fn name_in_zone(front: &[u8], zone: &Zone) -> Option<NameBuf> {
    let mut bytes = [0; 255];
    let room = bytes.get_mut(..front.len() + zone.name.wire().len())?;
    let (left, right) = room.split_at_mut(front.len());
    left.copy_from_slice(front);
    right.copy_from_slice(zone.name.wire());
    if front.is_empty() { None } else { Name::from_wire(room).map(Name::to_buf) }
}

/// The Services of an address, for `explain`.
fn names_of(outside: &dyn ExternalServices, address: IpAddr) -> String {
    let mut services: Vec<String> = Vec::new();
    outside.names_of(address, &mut |front| {
        let name = [front, &[0]].concat();
        services.extend(Name::from_wire(&name).map(|name| name.to_string()));
    });
    match services.as_slice() {
        [] => format!("no Service has the external address {address}"),
        services => format!("{address} is an external address of Services {}", services.join(", ")),
    }
}
