//! The zone apex: its SOA record, and a name server under `dns.ZONE`.

use server::{Step, Visit};
use wire::{Class, Flags, Name, NameBuf, Owner, Rcode, Reply, Rtype, Section};

use super::services::{Existence, ExternalServices};
use super::{K8sExternal, Zone};
use crate::messages::records::{push_address, rtype};

const REFRESH: u32 = 7200;
const RETRY: u32 = 1800;
const EXPIRE: u32 = 86400;

/// A name at or below `dns.ZONE`, by the labels left of the zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApexName {
    /// One label: an empty non-terminal above the name server.
    Apex,
    /// `ns1` and one more label.
    NameServer,
    Unknown,
}

impl ApexName {
    pub fn of(name: Name<'_>, zone: &Zone) -> ApexName {
        let labels = name.label_count() - zone.name.as_name().label_count();
        match (labels, name.labels().next()) {
            (1, _) => ApexName::Apex,
            (2, Some(b"ns1")) => ApexName::NameServer,
            _ => ApexName::Unknown,
        }
    }
}

impl K8sExternal {
    /// Answers for the zone apex.
    pub fn apex(&self, visit: &mut Visit<'_>, outside: &dyn ExternalServices, zone: &Zone) -> Step {
        visit.note(|_| format!("{} is the zone apex", zone.name));
        let reply = visit.begin();
        reply.flags.set(Flags::AA, true);
        match visit.query.question.qtype {
            Rtype::SOA => self.push_soa(visit.reply, Section::Answer, outside, zone),
            Rtype::NS => {
                let reply = &mut *visit.reply;
                let owner = reply.store(zone.name.as_name());
                reply.push_with(Section::Answer, owner, Rtype::NS, Class::IN, self.ttl, |out| {
                    out.name(zone.server.as_name());
                });
                // With the zone in the client's case.
                if let Some(server) = with_zone_case(&zone.server, visit.query.question.name()) {
                    let owner = reply.store(server.as_name());
                    outside.own_addresses(self.headless, &mut |address| {
                        push_address(reply, Section::Additional, owner, self.ttl, address);
                    });
                }
            }
            _ => self.push_soa(visit.reply, Section::Authority, outside, zone),
        }
        Step::Answer
    }

    /// Answers for `dns.ZONE` and names below it.
    pub fn below_apex(
        &self,
        visit: &mut Visit<'_>,
        outside: &dyn ExternalServices,
        zone: &Zone,
        below: ApexName,
    ) -> Step {
        match below {
            ApexName::Unknown => {
                visit.note(|_| format!("{} has no name below it but the name server", zone.apex));
                self.deny(visit, Rcode::NXDOMAIN, outside, zone);
            }
            ApexName::Apex => {
                visit.note(|_| {
                    format!("{} has no records of its own, only the name server below it", zone.apex)
                });
                self.deny(visit, Rcode::NOERROR, outside, zone);
            }
            ApexName::NameServer => {
                visit.note(|_| format!("name server of {}", zone.name));
                let qtype = visit.query.question.qtype;
                let reply = visit.begin();
                reply.flags.set(Flags::AA, true);
                outside.own_addresses(self.headless, &mut |address| {
                    if rtype(address) == qtype {
                        push_address(reply, Section::Answer, Owner::Question(0), self.ttl, address);
                    }
                });
                return self.finish(visit, outside, zone, Existence::Exists);
            }
        }
        Step::Answer
    }

    /// Completes a reply: without answer records it becomes NODATA, NXDOMAIN or SERVFAIL, or falls through.
    pub fn finish(
        &self,
        visit: &mut Visit<'_>,
        outside: &dyn ExternalServices,
        zone: &Zone,
        existence: Existence,
    ) -> Step {
        if !visit.reply.section(Section::Answer).is_empty() {
            return Step::Answer;
        }
        let rcode = match existence {
            Existence::Exists => Rcode::NOERROR,
            _ if self.fallthrough.through(visit.query.question.lower()) => {
                visit.note(|_| "falls through to the next plugin".to_owned());
                return Step::Next;
            }
            Existence::Absent => Rcode::NXDOMAIN,
            // A missing object may not be listed yet.
            Existence::Unknown => Rcode::SERVFAIL,
        };
        self.deny(visit, rcode, outside, zone);
        Step::Answer
    }

    fn deny(&self, visit: &mut Visit<'_>, rcode: Rcode, outside: &dyn ExternalServices, zone: &Zone) {
        visit.reply.begin_error(visit.query, rcode);
        visit.reply.flags.set(Flags::AA, true);
        self.push_soa(visit.reply, Section::Authority, outside, zone);
    }

    fn push_soa(&self, reply: &mut Reply, section: Section, outside: &dyn ExternalServices, zone: &Zone) {
        let owner = reply.store(zone.name.as_name());
        reply.push_with(section, owner, Rtype::SOA, Class::IN, self.ttl, |out| {
            out.name(zone.server.as_name()).name(zone.mailbox.as_name()).u32(outside.serial());
            out.u32(REFRESH).u32(RETRY).u32(EXPIRE).u32(self.ttl);
        });
    }
}

/// A name of the zone, with the zone in the client's case.
fn with_zone_case(name: &NameBuf, zone: Name<'_>) -> Option<NameBuf> {
    let mut bytes = [0; 255];
    let room = bytes.get_mut(..name.wire().len())?;
    room.copy_from_slice(name.wire());
    let at = room.len().checked_sub(zone.len())?;
    room.get_mut(at..)?.copy_from_slice(zone.wire());
    Name::from_wire(room).map(Name::to_buf)
}
