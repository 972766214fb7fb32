//! Answers with the client's own address, port and transport.

mod setup;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use server::{Plugin, Step, Transport, Visit};
use wire::{Flags, Name, Owner, Rtype, Section};

pub(crate) use setup::setup;

struct Whoami;

impl Plugin for Whoami {
    fn name(&self) -> &'static str {
        "whoami"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let (remote, transport) = (visit.client.remote, visit.client.transport);
        let class = visit.query.question.qclass;
        let mut service = visit.query.question.name().to_buf();
        let reply = visit.begin();
        reply.flags.set(Flags::AA, true);
        let (section, owner) = (Section::Additional, Owner::Question(0));
        match remote.ip() {
            IpAddr::V4(ip) => reply.push_with(section, owner, Rtype::A, class, 0, |data| {
                data.bytes(&ip.octets());
            }),
            IpAddr::V6(ip) => reply.push_with(section, owner, Rtype::AAAA, class, 0, |data| {
                data.bytes(&ip.octets());
            }),
        }
        let label: &[u8] = match transport {
            Transport::Udp => b"_udp",
            Transport::Tcp => b"_tcp",
        };
        // A name too long for one more label gets no SRV record.
        if service.prepend(label) {
            let owner = reply.store(service.as_name());
            reply.push_with(section, owner, Rtype::SRV, class, 0, |data| {
                data.u16(0).u16(0).u16(remote.port()).name(Name::ROOT);
            });
        }
        visit.note(|_| format!("the client is {remote} over {}", transport.proto()));
        Step::Answer
    }
}
