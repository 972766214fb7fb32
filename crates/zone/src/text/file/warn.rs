//! Warnings: records that a zone may have, but that are likely mistakes.

use wire::{Name, Rtype};

use super::{FileError, Source, ZoneFile};
use crate::contents::Contents;
use wire::message::Record;

impl ZoneFile<'_> {
    /// The likely mistakes in a file that loaded, with their positions. It is read a second time.
    pub fn warnings(&self, contents: &Contents, source: &mut dyn Source) -> Vec<FileError> {
        let mut warnings = Vec::new();
        // Errors were reported by the load.
        let _ = self.read(source, &mut |record, position| {
            for message in [differing_ttl(contents, record), target(contents, record)].into_iter().flatten() {
                warnings.push(FileError::new(position, message));
            }
            Ok(())
        });
        warnings
    }
}

/// RFC 2181 §5.2: the TTLs of a set are equal.
fn differing_ttl(contents: &Contents, record: &Record<'_>) -> Option<String> {
    // Signatures have the TTL of the set that they cover.
    let set = contents.sets(record.owner)?.get(record.rtype)?;
    let (ttl, rtype) = (record.ttl, record.rtype.zone_name());
    (set.ttl != ttl).then(|| {
        format!("{}: TTL {ttl} is not used: the first {rtype} record has TTL {}", record.owner, set.ttl)
    })
}

/// The name that a record points to should exist, and not be an alias.
fn target(contents: &Contents, record: &Record<'_>) -> Option<String> {
    let rtype = record.rtype;
    let before = match rtype {
        Rtype::NS | Rtype::CNAME => 0,
        Rtype::MX => 2,
        Rtype::SRV => 6,
        _ => return None,
    };
    let target = Name::from_wire(record.data.get(before..)?)?;
    let what = || format!("{}: {} {target}", record.owner, rtype.zone_name());
    if contents.sets(target).is_some_and(|sets| sets.has(Rtype::CNAME)) {
        let rule = if rtype == Rtype::CNAME { "" } else { " (RFC 2181 §10.3)" };
        return Some(format!("{} is an alias{rule}", what()));
    }
    let lacks_address =
        rtype == Rtype::NS && is_served(contents, record.owner, target) && !has_address(contents, target);
    lacks_address.then(|| format!("{} has no address in the zone", what()))
}

/// Whether the zone must have the addresses of a name server: not if another zone has them, outside or delegated.
fn is_served(contents: &Contents, owner: Name<'_>, target: Name<'_>) -> bool {
    let is_delegated = |name: Name<'_>| {
        !name.eq_ignore_case(contents.origin()) && contents.sets(name).is_some_and(|sets| sets.has(Rtype::NS))
    };
    let mut names = target.suffixes().take_while(|name| name.is_under(contents.origin()));
    target.is_under(contents.origin()) && names.all(|name| name.eq_ignore_case(owner) || !is_delegated(name))
}

fn has_address(contents: &Contents, target: Name<'_>) -> bool {
    let has = |name: Name<'_>| contents.sets(name).map(|sets| sets.has(Rtype::A) || sets.has(Rtype::AAAA));
    // A name that does not exist may be one of a wildcard's.
    has(target).unwrap_or_else(|| {
        target.suffixes().skip(1).any(|name| {
            let mut wildcard = name.to_buf();
            wildcard.prepend(b"*") && has(wildcard.as_name()) == Some(true)
        })
    })
}
