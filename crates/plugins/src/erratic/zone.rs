//! The small zone that AXFR transfers. It fits into one message.

use wire::{Class, Flags, Name, Owner, Reply, Rtype, Section};

const SOA: &[u8] = b"\x03sns\x03dns\x05icann\x03org\0\x03noc\x03dns\x05icann\x03org\0\
    \x78\x49\x03\x09\0\0\x1c\x20\0\0\x0e\x10\0\x12\x75\0\0\0\x0e\x10";
const A: [u8; 16] = [0x20, 0x01, 0x0b, 0xd8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x53];
const B: [u8; 16] = [0x20, 0x01, 0x05, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x54];

/// Writes the zone at `apex` into the reply; without the closing SOA unless `complete`.
pub(super) fn transfer(reply: &mut Reply, apex: Name<'_>, complete: bool) {
    reply.flags.set(Flags::AA, true);
    reply.push(Section::Answer, Owner::Question(0), Rtype::SOA, 0, SOA);
    for label in [b"b", b"a"] {
        let mut server = apex.to_buf();
        if server.prepend(label) {
            reply.push_with(Section::Answer, Owner::Question(0), Rtype::NS, Class::IN, 0, |data| {
                data.name(server.as_name());
            });
        }
    }
    for (label, address) in [(b"a", A), (b"b", B)] {
        let mut server = apex.to_buf();
        if server.prepend(label) {
            let owner = reply.store(server.as_name());
            reply.push(Section::Answer, owner, Rtype::AAAA, 0, &address);
        }
    }
    if complete {
        reply.push(Section::Answer, Owner::Question(0), Rtype::SOA, 0, SOA);
    }
}
