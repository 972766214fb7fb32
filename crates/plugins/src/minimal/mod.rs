//! Removes the authority and additional sections from replies where the client does not need them.

mod setup;
#[cfg(test)]
mod tests;

use std::time::{SystemTime, UNIX_EPOCH};

use server::{Hooks, Plugin, Turn, Visit};
use wire::{Edns, Opcode, Query, Rcode, Reply, Rtype, Section};

pub(crate) use setup::setup;

struct Minimal;

impl Plugin for Minimal {
    fn name(&self) -> &'static str {
        "minimal"
    }

    fn hooks(&self) -> Hooks {
        Hooks::RECORDS
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        if !is_plain_success(visit.query, visit.reply) {
            return Turn::Up;
        }
        let before = visit.reply.records().len();
        visit.reply.retain(Section::Authority, |_| false);
        visit.reply.retain(Section::Additional, |_| false);
        // OPT is an additional record too; the server adds the client's own.
        visit.reply.opt = None;
        let removed = before - visit.reply.records().len();
        if removed > 0 {
            visit.note(|_| format!("authority and additional records removed: {removed}"));
        }
        Turn::Up
    }
}

/// Whether only the answer section matters. Denials and referrals need the others; transfers, errors and replies with
/// expired signatures pass unchanged.
fn is_plain_success(query: &Query, reply: &Reply) -> bool {
    if reply.rcode != Rcode::NOERROR
        || matches!(reply.opcode, Opcode::UPDATE | Opcode::NOTIFY)
        || matches!(query.question.qtype, Rtype::AXFR | Rtype::IXFR)
    {
        return false;
    }
    let dnssec = reply.opt.as_ref().is_some_and(|opt| opt.flags & Edns::DO != 0);
    if dnssec && has_expired_signature(reply) {
        return false;
    }
    let denies_or_refers = |rtype| matches!(rtype, Rtype::SOA | Rtype::NS);
    !reply.section(Section::Answer).is_empty()
        || !reply.section(Section::Authority).iter().any(|record| denies_or_refers(record.rtype))
}

fn has_expired_signature(reply: &Reply) -> bool {
    let mut signatures = reply.records().iter().filter(|record| record.rtype == Rtype::RRSIG).peekable();
    if signatures.peek().is_none() {
        return false;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as u32);
    signatures.any(|record| !is_valid_at(reply.data(record), now))
}

/// Whether `now` is between inception and expiration, in serial number arithmetic (RFC 4034 §3.1.5).
fn is_valid_at(signature: &[u8], now: u32) -> bool {
    let Some([e0, e1, e2, e3, i0, i1, i2, i3]) = signature.get(8..16) else { return false };
    let expiration = u32::from_be_bytes([*e0, *e1, *e2, *e3]);
    let inception = u32::from_be_bytes([*i0, *i1, *i2, *i3]);
    let not_after = |earlier: u32, later: u32| later.wrapping_sub(earlier) as i32 >= 0;
    not_after(inception, now) && not_after(now, expiration)
}
