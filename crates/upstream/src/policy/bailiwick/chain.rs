//! The targets of the question's aliases, in any order of the records.

use wire::{Name, NameBuf, Record, Reply, Rtype, Section};

use super::{BailiwickFilter, is_one_of};

/// Maximum length of the chain. No resolver follows as many; bounds the work a forged reply can cause.
const MAX_LINKS: usize = 32;

impl BailiwickFilter {
    /// Collects all names that belong to the question.
    pub(super) fn follow_aliases(&mut self, reply: &Reply, qname: Name<'_>) {
        self.chain.clear();
        self.chain.push(qname.to_buf());
        let answer = reply.section(Section::Answer);
        if !answer.iter().any(|record| matches!(record.rtype, Rtype::CNAME | Rtype::DNAME)) {
            return;
        }
        let mut at = 0;
        while at < self.chain.len() {
            for record in answer {
                if let Some(next) = alias_target(reply, record, qname, self.chain[at].as_name())
                    && self.chain.len() < MAX_LINKS
                    && !is_one_of(next.as_name(), &self.chain)
                {
                    self.chain.push(next);
                }
            }
            at += 1;
        }
    }
}

/// The target of this name, if the record makes it an alias.
fn alias_target(reply: &Reply, record: &Record, qname: Name<'_>, name: Name<'_>) -> Option<NameBuf> {
    match record.rtype {
        Rtype::CNAME if reply.owner(record, qname).eq_ignore_case(name) => {
            Name::from_wire(reply.data(record)).map(Name::to_buf)
        }
        // The labels before the owner stay in front of the target (RFC 6672 §2.2), if the name does not get too long.
        Rtype::DNAME => {
            let prefix = name.offset_of(reply.owner(record, qname)).filter(|&prefix| prefix > 0)?;
            let target = Name::from_wire(reply.data(record))?;
            let mut wire = [0; 255];
            wire.get_mut(..prefix)?.copy_from_slice(&name.wire()[..prefix]);
            wire.get_mut(prefix..prefix + target.len())?.copy_from_slice(target.wire());
            Name::from_wire(&wire[..prefix + target.len()]).map(Name::to_buf)
        }
        _ => None,
    }
}
