//! The packet of a query for upstreams and dnstap.

use wire::Query;

/// Encodes the query with the changes of plugins to question, flags and EDNS, and with the client's other records, such as
/// the SOA record of an IXFR.
pub(crate) fn of(query: &Query) -> Vec<u8> {
    let encoded = query.to_packet();
    if has_other_records(query) && is_unchanged(query, &encoded) {
        return query.packet().to_vec();
    }
    encoded
}

/// Whether there are records besides OPT, which is rare.
fn has_other_records(query: &Query) -> bool {
    let Some(header) = query.packet().first_chunk::<12>() else { return false };
    let counts = [6, 8, 10].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
    counts.iter().sum::<u16>() > u16::from(query.edns.is_some())
}

/// Whether no plugin changed the query. If one did, other records are dropped: signatures would not match any more, and
/// nothing else needs them.
fn is_unchanged(query: &Query, encoded: &[u8]) -> bool {
    let mut received = Query::new();
    received.parse(query.packet());
    received.to_packet() == encoded
}
