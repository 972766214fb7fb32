//! The bailiwick filter: removes records from a reply that do not belong to the question. They were not requested, and
//! may be forged to poison a cache.
//!
//! | section | owners of the records that stay |
//! |---|---|
//! | answer | the question's name and the targets of its aliases; a DNAME above one of these; in a transfer all names under the question's name |
//! | authority | names at or above one of those; NSEC and NSEC3 of the same zone; the SOA of a negative answer |
//! | additional | for addresses: names that a record refers to; for other types: any |
//!
//! A signature is treated like the records it signs. The SOA of a negative answer only determines its TTL, and filtering
//! resolvers put one of their own there, so its owner does not matter.

mod chain;
mod targets;

use wire::{Name, NameBuf, Opcode, Owner, Question, Rcode, Record, Reply, Rtype, Section};

/// Kept from one reply to the next for its capacity.
#[derive(Default)]
pub(crate) struct BailiwickFilter {
    /// The question's name, then the targets of its aliases.
    chain: Vec<NameBuf>,
    /// Sorted hashes of the names that records refer to.
    targets: Vec<u64>,
}

impl BailiwickFilter {
    /// Removes the records that do not belong to the question. True if there were any.
    pub(crate) fn filter(&mut self, reply: &mut Reply, question: &Question) -> bool {
        if reply.opcode != Opcode::QUERY || reply.records().is_empty() {
            return false;
        }
        let qname = question.name();
        self.follow_aliases(reply, qname);
        let chain = &*self.chain;
        let answers = if matches!(question.qtype, Rtype::AXFR | Rtype::IXFR) {
            remove_unless(reply, Section::Answer, |reply, record| reply.owner(record, qname).is_under(qname))
        } else {
            remove_unless(reply, Section::Answer, |reply, record| fits_answer(reply, record, qname, chain))
        };
        let authorities = remove_unless(reply, Section::Authority, |reply, record| {
            fits_authority(reply, record, qname, chain)
        });
        answers | authorities | self.filter_additional(reply, qname)
    }

    fn filter_additional(&mut self, reply: &mut Reply, qname: Name<'_>) -> bool {
        let needs_check = |record: &Record| {
            is_address(reply, record) && !is_one_of(reply.owner(record, qname), &self.chain)
        };
        if !reply.section(Section::Additional).iter().any(needs_check) {
            return false;
        }
        self.collect_targets(reply, qname);
        remove_unless(reply, Section::Additional, |reply, record| {
            !is_address(reply, record) || self.may_have_addresses(reply.owner(record, qname))
        })
    }
}

fn fits_answer(reply: &Reply, record: &Record, qname: Name<'_>, chain: &[NameBuf]) -> bool {
    if record.owner == Owner::Question(0) {
        return true;
    }
    let owner = reply.owner(record, qname);
    is_one_of(owner, chain) || rtype(reply, record) == Rtype::DNAME && is_above_one_of(owner, chain)
}

fn fits_authority(reply: &Reply, record: &Record, qname: Name<'_>, chain: &[NameBuf]) -> bool {
    let owner = reply.owner(record, qname);
    let is_negative = || reply.rcode == Rcode::NXDOMAIN || reply.section(Section::Answer).is_empty();
    match rtype(reply, record) {
        Rtype::SOA if is_negative() => true,
        // The owner is a hash label below the zone's name.
        Rtype::NSEC3 => owner.parent().is_some_and(|zone| is_above_one_of(zone, chain)),
        // The owner is any name of the zone, and no record names the zone. Names of the root zone have one label.
        Rtype::NSEC => {
            let top_level = top_level(owner);
            owner.label_count() <= 1 || chain.iter().any(|name| name.as_name().is_under(top_level))
        }
        _ => is_above_one_of(owner, chain),
    }
}

fn is_one_of(name: Name<'_>, chain: &[NameBuf]) -> bool {
    chain.iter().any(|link| link.as_name().eq_ignore_case(name))
}

/// Whether a name is at or above one of the chain.
fn is_above_one_of(name: Name<'_>, chain: &[NameBuf]) -> bool {
    chain.iter().any(|link| link.as_name().is_under(name))
}

fn top_level(name: Name<'_>) -> Name<'_> {
    name.suffixes().find(|suffix| suffix.label_count() <= 1).unwrap_or(Name::ROOT)
}

/// The record's type; for a signature the type covered.
fn rtype(reply: &Reply, record: &Record) -> Rtype {
    match (record.rtype, reply.data(record)) {
        (Rtype::RRSIG | Rtype::SIG, [high, low, ..]) => Rtype(u16::from_be_bytes([*high, *low])),
        (rtype, _) => rtype,
    }
}

fn is_address(reply: &Reply, record: &Record) -> bool {
    matches!(rtype(reply, record), Rtype::A | Rtype::AAAA)
}

/// Removes the records that do not fit. True if there were any, which is rare; only then it allocates.
fn remove_unless(reply: &mut Reply, section: Section, fits: impl Fn(&Reply, &Record) -> bool) -> bool {
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
