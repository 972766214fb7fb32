//! Answers queries for the local host, so that they do not leak to upstreams.
//!
//! These are names at or under `localhost`, names that begin with it, which the resolver's search path makes, and the
//! reverse zones of the IPv4 networks 0, 127 and 255.

mod setup;
#[cfg(test)]
mod tests;

use metrics::{Counter, RegisterError, registry};
use server::{Plugin, Step, Visit, log};
use wire::{Name, NameBuf, Owner, Rcode, Reply, Rtype, Section};

pub(crate) use setup::setup;

/// One week.
const TTL: u32 = 604_800;
const LOCALHOST: &[u8] = b"\x09localhost\0";
const ROOT_AT_LOCALHOST: &[u8] = b"\x04root\x09localhost\0";
const LOOPBACK_PTR: &[u8] = b"\x011\x010\x010\x03127\x07in-addr\x04arpa\0";
const LOG: log::Logger = log::plugin("local");

static LOCALHOST_REQUESTS: Counter = Counter::new();

pub(crate) fn register_metrics() -> Result<(), RegisterError> {
    let help = "Counter of special localhost subdomain requests.";
    registry().register_counter("coredns_local_localhost_requests_total", help, &LOCALHOST_REQUESTS)?;
    Ok(())
}

struct Local {
    /// The zones of this plugin, `localhost` first.
    zones: [NameBuf; 4],
    /// Whether `localhost.example.org` is the local host too.
    prefix: bool,
}

impl Plugin for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let question = &visit.query.question;
        let name = question.lower();
        if self.is_special_localhost(name) {
            if visit.is_served() {
                LOCALHOST_REQUESTS.inc();
                LOG.debug(format_args!(
                    "Intercepting localhost query for \"{name}\" {}, from {}",
                    question.qtype,
                    visit.client.remote.ip()
                ));
            }
            let qtype = question.qtype;
            let reply = visit.begin();
            match qtype {
                Rtype::A | Rtype::AAAA => push_loopback(reply, qtype),
                _ => push_soa(reply, Section::Authority, 0),
            }
            visit.note(|_| "name under or beginning with localhost".to_owned());
            return Step::Answer;
        }
        let Some((zone, at)) =
            self.zones.iter().find_map(|zone| Some((zone.as_name(), name.offset_of(zone.as_name())? as u8)))
        else {
            return Step::Next;
        };
        let is_localhost = zone.wire() == LOCALHOST;
        let is_loopback_ptr = name.wire() == LOOPBACK_PTR;
        let qtype = question.qtype;
        let reply = visit.begin();
        match qtype {
            Rtype::A | Rtype::AAAA if is_localhost => push_loopback(reply, qtype),
            Rtype::SOA if at == 0 => push_soa(reply, Section::Answer, 0),
            Rtype::NS if at == 0 => {
                reply.push(Section::Answer, Owner::Question(0), Rtype::NS, TTL, LOCALHOST)
            }
            Rtype::PTR if is_loopback_ptr => {
                reply.push(Section::Answer, Owner::Question(0), Rtype::PTR, TTL, LOCALHOST);
            }
            _ => {
                if at != 0 && !is_loopback_ptr {
                    reply.rcode = Rcode::NXDOMAIN;
                }
                push_soa(reply, Section::Authority, at);
            }
        }
        visit.note(|_| format!("in the built-in zone {zone}"));
        Step::Answer
    }
}

impl Local {
    /// Whether it is `x.localhost.` or, unless turned off, `localhost.x.`; false for `localhost.` itself.
    fn is_special_localhost(&self, name: Name<'_>) -> bool {
        let Some(rest) = name.parent().filter(|rest| !rest.is_root()) else { return false };
        rest.is_under(self.zones[0].as_name()) || self.prefix && name.labels().next() == Some(b"localhost")
    }
}

fn push_loopback(reply: &mut Reply, qtype: Rtype) {
    let data: &[u8] =
        if qtype == Rtype::A { &[127, 0, 0, 1] } else { &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] };
    reply.push(Section::Answer, Owner::Question(0), qtype, TTL, data);
}

/// An SOA record owned by the part of the question from `at` on, in the client's spelling.
fn push_soa(reply: &mut Reply, section: Section, at: u8) {
    reply.push_with(section, Owner::Question(at), Rtype::SOA, wire::Class::IN, TTL, |data| {
        data.bytes(LOCALHOST).bytes(ROOT_AT_LOCALHOST).u32(1).u32(0).u32(0).u32(0).u32(TTL);
    });
}
