//! The names that records refer to, whose addresses may be in the additional section.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use wire::{Name, Record, Reply, Rtype, Section};

use super::{BailiwickFilter, is_one_of};

/// Maximum number of references to follow inside the additional section: PTR to SRV to CNAME is the longest in use.
const MAX_ROUNDS: usize = 3;

impl BailiwickFilter {
    /// Collects the names that the answer and authority sections refer to, and those that additional records of these
    /// names refer to.
    pub(super) fn collect_targets(&mut self, reply: &Reply, qname: Name<'_>) {
        self.targets.clear();
        for section in [Section::Answer, Section::Authority] {
            let targets = reply.section(section).iter().filter_map(|record| target(reply, record));
            self.targets.extend(targets.map(hash));
        }
        self.targets.sort_unstable();
        for _ in 0..MAX_ROUNDS {
            let known = self.targets.len();
            for record in reply.section(Section::Additional) {
                let Some(target) = target(reply, record) else { continue };
                let owner = reply.owner(record, qname);
                // Targets added in this round are at the end, not sorted yet.
                let is_known = self.targets[..known].binary_search(&hash(owner)).is_ok();
                if is_known || is_one_of(owner, &self.chain) {
                    self.targets.push(hash(target));
                }
            }
            self.targets.sort_unstable();
            self.targets.dedup();
            if self.targets.len() == known {
                break;
            }
        }
    }

    /// Whether addresses of this name may be in the additional section.
    pub(super) fn may_have_addresses(&self, name: Name<'_>) -> bool {
        is_one_of(name, &self.chain) || self.targets.binary_search(&hash(name)).is_ok()
    }
}

/// Randomly seeded, so that nobody can construct collisions.
fn hash(name: Name<'_>) -> u64 {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    SEED.hash_one(name.to_lower().wire())
}

/// The name a record refers to.
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
        // Order and preference, then flags, services and a regular expression, each with a length octet.
        Rtype::NAPTR => {
            let text = |at: usize| Some(at + 1 + usize::from(*data.get(at)?));
            text(text(text(4)?)?)?
        }
        _ => return None,
    };
    name_at(data, at)
}

/// The name at an offset; more data may follow.
fn name_at(data: &[u8], at: usize) -> Option<Name<'_>> {
    let mut end = at;
    while *data.get(end)? != 0 {
        end += usize::from(data[end]) + 1;
    }
    Name::from_wire(&data[at..=end])
}
