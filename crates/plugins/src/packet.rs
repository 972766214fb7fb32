//! The query as upstreams and recorders get it.

use wire::Query;

/// The whole query: question, flags and EDNS as plugins left them, and what else the client sent, such as the
/// SOA record of an IXFR.
pub(crate) fn of(query: &Query) -> Vec<u8> {
    let ours = query.to_packet();
    if has_other_records(query) && is_untouched(query, &ours) {
        return query.packet().to_vec();
    }
    ours
}

/// Records beside OPT, which hardly any query has.
fn has_other_records(query: &Query) -> bool {
    let Some(header) = query.packet().first_chunk::<12>() else { return false };
    let counts = [6, 8, 10].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
    counts.iter().sum::<u16>() > u16::from(query.edns.is_some())
}

/// Whether no plugin changed anything. If one did, other records are left out: signatures would not fit any
/// more, and nothing else needs them.
fn is_untouched(query: &Query, ours: &[u8]) -> bool {
    let mut arrived = Query::new();
    arrived.parse(query.packet());
    arrived.to_packet() == ours
}
