//! Whose records a reply may hold. An upstream may say more than it was asked, but only about what belongs to the
//! question. The rest is taken out: nobody asked for it, and it may be forged to be remembered by somebody.
//!
//! | section | whose records stay |
//! |---|---|
//! | answer | the question's name and the names its aliases lead to; a DNAME of a name above one of these; in a transfer whatever is under the question's name |
//! | authority | names at or above one of those; NSEC and NSEC3 of the same zone; the SOA of a denial |
//! | additional | addresses of names that a record leads to; all that is no address |
//!
//! A signature stays where what it signs would. The SOA of a denial only tells how long that holds, and filters put
//! one of their own there, so that its owner does not matter.

mod chain;
mod mention;

use wire::{Name, NameBuf, Opcode, Owner, Question, Rcode, Record, Reply, Rtype, Section};

/// Kept from one reply to the next for its room.
#[derive(Default)]
pub(crate) struct Sieve {
    /// The question's name, then the names its aliases lead to.
    chain: Vec<NameBuf>,
    /// Hashes of the names that records lead to, in order.
    mentioned: Vec<u64>,
}

impl Sieve {
    /// Takes out the records that do not belong to the question. True if there were any.
    pub(crate) fn sift(&mut self, reply: &mut Reply, question: &Question) -> bool {
        if reply.opcode != Opcode::QUERY || reply.records().is_empty() {
            return false;
        }
        let qname = question.name();
        self.follow(reply, qname);
        let chain = &*self.chain;
        let answers = if matches!(question.qtype, Rtype::AXFR | Rtype::IXFR) {
            take_out(reply, Section::Answer, |reply, record| reply.owner(record, qname).is_under(qname))
        } else {
            take_out(reply, Section::Answer, |reply, record| answers(reply, record, qname, chain))
        };
        let authorities =
            take_out(reply, Section::Authority, |reply, record| governs(reply, record, qname, chain));
        answers | authorities | self.sift_additional(reply, qname)
    }

    fn sift_additional(&mut self, reply: &mut Reply, qname: Name<'_>) -> bool {
        let is_open = |record: &Record| {
            is_address(reply, record) && !is_one_of(reply.owner(record, qname), &self.chain)
        };
        if !reply.section(Section::Additional).iter().any(is_open) {
            return false;
        }
        self.gather_mentioned(reply, qname);
        take_out(reply, Section::Additional, |reply, record| {
            !is_address(reply, record) || self.is_wanted(reply.owner(record, qname))
        })
    }
}

fn answers(reply: &Reply, record: &Record, qname: Name<'_>, chain: &[NameBuf]) -> bool {
    if record.owner == Owner::Question(0) {
        return true;
    }
    let owner = reply.owner(record, qname);
    is_one_of(owner, chain) || rtype(reply, record) == Rtype::DNAME && is_above_one_of(owner, chain)
}

fn governs(reply: &Reply, record: &Record, qname: Name<'_>, chain: &[NameBuf]) -> bool {
    let owner = reply.owner(record, qname);
    let denies = || reply.rcode == Rcode::NXDOMAIN || reply.section(Section::Answer).is_empty();
    match rtype(reply, record) {
        Rtype::SOA if denies() => true,
        // A hash in front of the zone's name.
        Rtype::NSEC3 => owner.parent().is_some_and(|zone| is_above_one_of(zone, chain)),
        // Any name of the zone, which nothing else names. The root zone has no names but top-level ones.
        Rtype::NSEC => {
            let top = top(owner);
            owner.label_count() <= 1 || chain.iter().any(|name| name.as_name().is_under(top))
        }
        _ => is_above_one_of(owner, chain),
    }
}

fn is_one_of(name: Name<'_>, chain: &[NameBuf]) -> bool {
    chain.iter().any(|link| link.as_name().eq_ignore_case(name))
}

/// At it or above it.
fn is_above_one_of(name: Name<'_>, chain: &[NameBuf]) -> bool {
    chain.iter().any(|link| link.as_name().is_under(name))
}

fn top(name: Name<'_>) -> Name<'_> {
    name.suffixes().find(|suffix| suffix.label_count() <= 1).unwrap_or(Name::ROOT)
}

/// The record's type; of a signature the type it is for.
fn rtype(reply: &Reply, record: &Record) -> Rtype {
    match (record.rtype, reply.data(record)) {
        (Rtype::RRSIG | Rtype::SIG, [high, low, ..]) => Rtype(u16::from_be_bytes([*high, *low])),
        (rtype, _) => rtype,
    }
}

fn is_address(reply: &Reply, record: &Record) -> bool {
    matches!(rtype(reply, record), Rtype::A | Rtype::AAAA)
}

/// Takes out the records that do not fit. True if there were any, which is seldom; only then something is
/// allocated.
fn take_out(reply: &mut Reply, section: Section, fits: impl Fn(&Reply, &Record) -> bool) -> bool {
    if reply.section(section).iter().all(|record| fits(reply, record)) {
        return false;
    }
    let fitting: Vec<bool> = reply.section(section).iter().map(|record| fits(reply, record)).collect();
    let mut fitting = fitting.into_iter();
    reply.retain(section, |_| fitting.next().unwrap_or(false));
    true
}

#[cfg(test)]
mod tests;
