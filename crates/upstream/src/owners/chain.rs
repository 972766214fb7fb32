//! The names the question's aliases lead to, in whatever order the records come.

use wire::{Name, NameBuf, Record, Reply, Rtype, Section};

use super::{Sieve, is_one_of};

/// No resolver follows as many; what a liar makes us do is bounded.
const MOST_LINKS: usize = 32;

impl Sieve {
    /// Finds all names that belong to the question.
    pub(super) fn follow(&mut self, reply: &Reply, qname: Name<'_>) {
        self.chain.clear();
        self.chain.push(qname.to_buf());
        let answer = reply.section(Section::Answer);
        if !answer.iter().any(|record| matches!(record.rtype, Rtype::CNAME | Rtype::DNAME)) {
            return;
        }
        let mut at = 0;
        while at < self.chain.len() {
            for record in answer {
                if let Some(next) = leads_to(reply, record, qname, self.chain[at].as_name())
                    && self.chain.len() < MOST_LINKS
                    && !is_one_of(next.as_name(), &self.chain)
                {
                    self.chain.push(next);
                }
            }
            at += 1;
        }
    }
}

/// The name this one is an alias of, if the record says so.
fn leads_to(reply: &Reply, record: &Record, qname: Name<'_>, name: Name<'_>) -> Option<NameBuf> {
    match record.rtype {
        Rtype::CNAME if reply.owner(record, qname).eq_ignore_case(name) => {
            Name::from_wire(reply.data(record)).map(Name::to_buf)
        }
        // The labels above the owner stay in front (RFC 6672 §2.2), if there is room for them.
        Rtype::DNAME => {
            let kept = name.offset_of(reply.owner(record, qname)).filter(|&kept| kept > 0)?;
            let target = Name::from_wire(reply.data(record))?;
            let mut wire = [0; 255];
            wire.get_mut(..kept)?.copy_from_slice(&name.wire()[..kept]);
            wire.get_mut(kept..kept + target.len())?.copy_from_slice(target.wire());
            Name::from_wire(&wire[..kept + target.len()]).map(Name::to_buf)
        }
        _ => None,
    }
}
