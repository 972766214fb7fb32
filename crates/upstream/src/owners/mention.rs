//! The names that records lead to, whose addresses may come along.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use wire::{Name, Record, Reply, Rtype, Section};

use super::{Sieve, is_one_of};

/// PTR to SRV to CNAME is as far as anybody goes inside the additional section.
const MOST_ROUNDS: usize = 3;

impl Sieve {
    /// Notes the names in the answer and authority sections, and those the additional section goes on to.
    pub(super) fn gather_mentioned(&mut self, reply: &Reply, qname: Name<'_>) {
        self.mentioned.clear();
        for section in [Section::Answer, Section::Authority] {
            let targets = reply.section(section).iter().filter_map(|record| target(reply, record));
            self.mentioned.extend(targets.map(hash));
        }
        self.mentioned.sort_unstable();
        for _ in 0..MOST_ROUNDS {
            let known = self.mentioned.len();
            for record in reply.section(Section::Additional) {
                let Some(target) = target(reply, record) else { continue };
                let owner = reply.owner(record, qname);
                // What is new in this round is behind, not yet in order.
                let is_known = self.mentioned[..known].binary_search(&hash(owner)).is_ok();
                if is_known || is_one_of(owner, &self.chain) {
                    self.mentioned.push(hash(target));
                }
            }
            self.mentioned.sort_unstable();
            self.mentioned.dedup();
            if self.mentioned.len() == known {
                break;
            }
        }
    }

    /// Whether addresses of this name may come along.
    pub(super) fn is_wanted(&self, name: Name<'_>) -> bool {
        is_one_of(name, &self.chain) || self.mentioned.binary_search(&hash(name)).is_ok()
    }
}

/// Seeded, so that nobody can find two names with the same one.
fn hash(name: Name<'_>) -> u64 {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    SEED.hash_one(name.to_lower().wire())
}

/// The name a record leads to.
fn target<'a>(reply: &'a Reply, record: &Record) -> Option<Name<'a>> {
    let data = reply.data(record);
    let at = match record.rtype {
        Rtype::NS
        | Rtype::CNAME
        | Rtype::DNAME
        | Rtype::PTR
        | Rtype::SOA
        | Rtype::MB
        | Rtype::MG
        | Rtype::MR
        | Rtype::MD
        | Rtype::MF => 0,
        Rtype::MX | Rtype::AFSDB | Rtype::RT | Rtype::KX | Rtype::LP | Rtype::SVCB | Rtype::HTTPS => 2,
        Rtype::SRV => 6,
        // Order and preference, then flags, services and a regular expression, each behind its length.
        Rtype::NAPTR => {
            let text = |at: usize| Some(at + 1 + usize::from(*data.get(at)?));
            text(text(text(4)?)?)?
        }
        _ => return None,
    };
    name_at(data, at)
}

/// The name that begins there; more may follow.
fn name_at(data: &[u8], at: usize) -> Option<Name<'_>> {
    let mut end = at;
    while *data.get(end)? != 0 {
        end += usize::from(data[end]) + 1;
    }
    Name::from_wire(&data[at..=end])
}
