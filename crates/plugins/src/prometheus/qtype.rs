//! The `type` label: CoreDNS's list of types, and `other` for the rest, so that clients cannot create series.

use wire::Rtype;

const OTHER: usize = 0;

/// Label values by [`index`].
pub(super) const LABELS: [&str; COUNT] = [
    "other", "A", "AAAA", "CNAME", "DNSKEY", "DS", "MX", "NSEC3", "NSEC", "NS", "PTR", "RRSIG", "SOA", "SRV",
    "TXT", "HTTPS", "SVCB", "IXFR", "AXFR", "ANY",
];

pub(super) const COUNT: usize = 20;

pub(super) fn index(qtype: Rtype) -> usize {
    match qtype {
        Rtype::A => 1,
        Rtype::AAAA => 2,
        Rtype::CNAME => 3,
        Rtype::DNSKEY => 4,
        Rtype::DS => 5,
        Rtype::MX => 6,
        Rtype::NSEC3 => 7,
        Rtype::NSEC => 8,
        Rtype::NS => 9,
        Rtype::PTR => 10,
        Rtype::RRSIG => 11,
        Rtype::SOA => 12,
        Rtype::SRV => 13,
        Rtype::TXT => 14,
        Rtype::HTTPS => 15,
        Rtype::SVCB => 16,
        Rtype::IXFR => 17,
        Rtype::AXFR => 18,
        Rtype::ANY => 19,
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_label_or_other() {
        for number in 0..=u16::MAX {
            let (at, text) = (index(Rtype(number)), Rtype(number).to_string());
            assert_eq!(LABELS[at] == text, at != OTHER, "{text}");
            assert_eq!(LABELS.contains(&&*text), at != OTHER, "{text}");
        }
    }
}
