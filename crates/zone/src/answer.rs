//! Answers a query from a zone's contents (RFC 1034 §4.3.2): the one look-up of everything that is authoritative.

use wire::{Flags, Name, NameBuf, Owner, Query, Rcode, Reply, Rtype, Section};

use crate::contents::Contents;
use crate::key::{self, Key};
use crate::leaf::Entry;
use crate::lookup::Place;
use crate::set::{RecordSet, Sets};

/// Aliases followed in one answer; a longer chain is cut off, as every server does.
const MAX_ALIASES: usize = 16;

/// Answers a query whose name is in the zone. The reply is authoritative unless it is a referral. Returns the name that
/// the last alias of the answer leads to, if it is outside the zone.
pub fn answer(contents: &Contents, query: &Query, reply: &mut Reply) -> Option<NameBuf> {
    reply.begin(query);
    reply.flags.set(Flags::AA, true);
    let question = query.question.lower();
    let Some(front) = question.offset_of(contents.origin()) else {
        reply.rcode = Rcode::REFUSED;
        return None;
    };
    let mut answer = Answer {
        contents,
        reply,
        question,
        front,
        qtype: query.question.qtype,
        dnssec: query.edns.is_some_and(|edns| edns.dnssec_ok()),
        aliases: 0,
    };
    answer.run()
}

struct Answer<'a> {
    contents: &'a Contents,
    reply: &'a mut Reply,
    question: Name<'a>,
    /// Octets of the question before the zone's name.
    front: usize,
    qtype: Rtype,
    dnssec: bool,
    aliases: usize,
}

/// The target of an alias, and that name in the reply.
type Alias = Option<(NameBuf, Owner)>;

impl<'a> Answer<'a> {
    fn run(&mut self) -> Option<NameBuf> {
        let mut next = self.step(&Key::new(self.question, self.front), self.question, Owner::Question(0));
        loop {
            let (target, owner) = next?;
            self.aliases += 1;
            let target = target.as_name().to_lower();
            let Some(front) = target.as_name().offset_of(self.contents.origin()) else {
                return Some(target);
            };
            if self.aliases > MAX_ALIASES {
                return None;
            }
            next = self.step(&Key::new(target.as_name(), front), target.as_name(), owner);
        }
    }

    /// Answers for one name of the chain; `owner` is that name in the reply.
    fn step(&mut self, key: &Key, name: Name<'_>, owner: Owner) -> Alias {
        let key = key.bytes();
        match self.contents.locate(key, self.qtype) {
            Place::Owner(entry) => self.answer_from(entry, owner, None, key),
            Place::Wildcard(entry) => self.answer_from(entry, owner, Some(entry), key),
            Place::Empty => {
                self.push_soa();
                self.push_nsec(key);
                None
            }
            Place::Missing { encloser } => {
                self.reply.rcode = Rcode::NXDOMAIN;
                self.push_soa();
                if self.dnssec {
                    let covering = self.push_nsec(key);
                    let wildcard = Key::wildcard_below(&key[..encloser]);
                    // Often one NSEC covers both.
                    let second = self.contents.nsec_for(wildcard.bytes());
                    if second.map(|entry| entry.key) != covering.map(|entry| entry.key) {
                        self.push_nsec(wildcard.bytes());
                    }
                }
                None
            }
            Place::Delegation(entry) => {
                self.refer(entry);
                None
            }
            Place::Dname(entry) => self.redirect(entry, name, owner),
        }
    }

    /// Answers from the record sets of an owner, or of the wildcard that stands for it.
    fn answer_from(
        &mut self,
        entry: Entry<'a>,
        owner: Owner,
        wildcard: Option<Entry<'a>>,
        key: &[u8],
    ) -> Alias {
        let sets = entry.sets;
        let alias = sets.get(Rtype::CNAME).filter(|_| !answers_beside_cname(self.qtype));
        if let Some(cname) = alias {
            self.push(Section::Answer, owner, &cname);
            let target = self.reply.owner_from_last_rdata(0);
            self.push_signatures(Section::Answer, owner, sets, Rtype::CNAME);
            if wildcard.is_some() {
                self.push_nsec(key);
            }
            return match (Name::from_wire(cname.first()), target) {
                (Some(name), Some(owner)) => Some((name.to_buf(), owner)),
                _ => None,
            };
        }
        let (mut found, qtype) = (false, self.qtype);
        for set in sets.iter().filter(|set| qtype == Rtype::ANY || set.rtype == qtype) {
            found = true;
            self.push(Section::Answer, owner, &set);
            if set.rtype != Rtype::RRSIG && qtype != Rtype::ANY {
                self.push_signatures(Section::Answer, owner, sets, set.rtype);
            }
            self.push_additional(&set);
        }
        if !found {
            self.push_soa();
            if let Some(wildcard) = wildcard {
                self.push_nsec(wildcard.key);
            }
        }
        if wildcard.is_some() || !found {
            self.push_nsec(key);
        }
        None
    }

    /// A referral to the name servers of a delegation, with glue.
    fn refer(&mut self, cut: Entry<'a>) {
        if self.aliases == 0 {
            self.reply.flags.set(Flags::AA, false);
        }
        let owner = self.owner_of(cut.key);
        let Some(ns) = cut.sets.get(Rtype::NS) else { return };
        self.push(Section::Authority, owner, &ns);
        if self.dnssec {
            match cut.sets.get(Rtype::DS) {
                Some(ds) => {
                    self.push(Section::Authority, owner, &ds);
                    self.push_signatures(Section::Authority, owner, cut.sets, Rtype::DS);
                }
                None => {
                    self.push_nsec(cut.key);
                }
            }
        }
        self.push_additional(&ns);
    }

    /// Rewrites a name below a DNAME (RFC 6672 §3.2).
    fn redirect(&mut self, dname: Entry<'a>, name: Name<'_>, owner: Owner) -> Alias {
        let set = dname.sets.get(Rtype::DNAME)?;
        let at = self.owner_of(dname.key);
        self.push(Section::Answer, at, &set);
        self.push_signatures(Section::Answer, at, dname.sets, Rtype::DNAME);
        let source = key::name_of(dname.key, self.contents.origin());
        let target = Name::from_wire(set.first());
        let front = name.offset_of(source.as_name()).map(|front| &name.wire()[..front]);
        let rewritten = front.zip(target).and_then(|(front, target)| concatenate(front, target));
        let Some(rewritten) = rewritten else {
            self.reply.rcode = Rcode::YXDOMAIN;
            return None;
        };
        self.reply.push(Section::Answer, owner, Rtype::CNAME, set.ttl, rewritten.wire());
        self.reply.owner_from_last_rdata(0).map(|owner| (rewritten, owner))
    }

    fn push(&mut self, section: Section, owner: Owner, set: &RecordSet<'_>) {
        let class = self.contents.class();
        for data in set.records() {
            self.reply.push_with(section, owner, set.rtype, class, set.ttl, |out| {
                out.bytes(data);
            });
        }
    }

    fn push_signatures(&mut self, section: Section, owner: Owner, sets: Sets<'_>, covered: Rtype) {
        if self.dnssec
            && let Some(signatures) = sets.signatures(covered)
        {
            self.push(section, owner, &signatures);
        }
    }

    /// The SOA of a negative answer; its TTL is the time the answer may be cached (RFC 2308 §5).
    fn push_soa(&mut self) {
        let apex = self.contents.apex();
        let Some(mut soa) = apex.get(Rtype::SOA) else { return };
        soa.ttl = soa.ttl.min(self.contents.soa().minimum);
        let owner = Owner::Question(self.front as u8);
        self.push(Section::Authority, owner, &soa);
        self.push_signatures(Section::Authority, owner, apex, Rtype::SOA);
    }

    /// The NSEC that is at a name or covers it, with its signatures, if the client wants it and the zone has one.
    fn push_nsec(&mut self, key: &[u8]) -> Option<Entry<'a>> {
        let entry = self.contents.nsec_for(key).filter(|_| self.dnssec)?;
        let nsec = entry.sets.get(Rtype::NSEC)?;
        let owner = self.owner_of(entry.key);
        self.push(Section::Authority, owner, &nsec);
        self.push_signatures(Section::Authority, owner, entry.sets, Rtype::NSEC);
        Some(entry)
    }

    /// The addresses of the hosts that a set names, if the zone has them.
    fn push_additional(&mut self, set: &RecordSet<'_>) {
        let skipped = match set.rtype {
            Rtype::NS => 0,
            Rtype::MX => 2,
            Rtype::SRV => 6,
            _ => return,
        };
        for data in set.records() {
            let Some(target) = data.get(skipped..).and_then(Name::from_wire) else { continue };
            let Some(sets) = self.contents.address_sets(target) else { continue };
            if self.has_additional(target) {
                continue;
            }
            let owner = self.reply.store(target);
            for rtype in [Rtype::A, Rtype::AAAA] {
                if let Some(addresses) = sets.get(rtype) {
                    self.push(Section::Additional, owner, &addresses);
                    self.push_signatures(Section::Additional, owner, sets, rtype);
                }
            }
        }
    }

    fn has_additional(&self, target: Name<'_>) -> bool {
        let records = self.reply.section(Section::Additional);
        records.iter().any(|record| {
            self.reply.owner_octets(record.owner, self.question).eq_ignore_ascii_case(target.wire())
        })
    }

    /// The owner for a key: a suffix of the question where it is one.
    fn owner_of(&mut self, key: &[u8]) -> Owner {
        let name = key::name_of(key, self.contents.origin());
        match self.question.offset_of(name.as_name()) {
            Some(at) => Owner::Question(at as u8),
            None => self.reply.store(name.as_name()),
        }
    }
}

/// Types that an owner with a CNAME answers itself.
fn answers_beside_cname(qtype: Rtype) -> bool {
    matches!(qtype, Rtype::CNAME | Rtype::ANY | Rtype::RRSIG | Rtype::NSEC)
}

/// The labels of `front` before a name; None if the result is too long.
fn concatenate(front: &[u8], name: Name<'_>) -> Option<NameBuf> {
    let mut bytes = [0; 510];
    let len = front.len() + name.len();
    bytes[..front.len()].copy_from_slice(front);
    bytes[front.len()..len].copy_from_slice(name.wire());
    Name::from_wire(&bytes[..len]).map(Name::to_buf)
}

#[cfg(test)]
mod tests;
