//! Slow path of encoding: compresses every name and truncates the reply to the client's limit.
//!
//! Records are added in order up to the first that does not fit; the rest is omitted and TC is set. Space for OPT is
//! reserved. NameTable are compressed case-sensitively against all names written before, as CoreDNS does it, because that
//! decides which records fit.

mod names;

use self::names::{LARGE_TABLE, NameTable, SMALL_MESSAGE, SMALL_TABLE};
use crate::layout::{Piece, walk_data};
use crate::reply::{Encoded, header, opt_head, write_fixed, write_question};
use crate::{Edns, Flags, HEADER_LEN, Query, Reply, Rtype, Section};

#[inline(never)]
pub(crate) fn encode(
    reply: &Reply,
    query: &Query,
    opt: Option<(Edns, &[u8])>,
    limit: usize,
    out: &mut Vec<u8>,
) -> Encoded {
    // Clearing a table for the longest message takes longer than encoding a short one.
    if limit <= SMALL_MESSAGE {
        encode_with::<SMALL_TABLE>(reply, query, opt, limit, out)
    } else {
        encode_with::<LARGE_TABLE>(reply, query, opt, limit, out)
    }
}

fn encode_with<const N: usize>(
    reply: &Reply,
    query: &Query,
    opt: Option<(Edns, &[u8])>,
    limit: usize,
    out: &mut Vec<u8>,
) -> Encoded {
    let opt_len = opt.map_or(0, |(_, options)| 11 + options.len());
    let limit = limit.saturating_sub(opt_len);
    out.resize(HEADER_LEN, 0);
    let mut names = NameTable::<N>::new();
    write_question(query, out);
    if query.has_question() {
        names.insert_name(query.question.name(), HEADER_LEN);
    }

    let mut counts = [0u16; 3];
    let mut full = out.len() >= limit;
    let mut truncated = false;
    for section in [Section::Answer, Section::Authority, Section::Additional] {
        for record in reply.section(section) {
            if full {
                truncated = true;
                break;
            }
            let start = out.len();
            names.write(reply.owner(record, query.question.name()), true, out);
            write_fixed(record, out);
            write_data(record.rtype, reply.data(record), &mut names, out);
            if out.len() > limit {
                out.truncate(start);
                truncated = true;
                full = true;
                break;
            }
            counts[section as usize] += 1;
            full = out.len() == limit;
        }
    }
    if let Some((edns, options)) = opt {
        out.extend_from_slice(&opt_head(edns, options, reply.rcode));
        out.extend_from_slice(options);
    }
    let flags = reply.flags.with(Flags::TC, truncated || reply.flags.has(Flags::TC));
    out[..HEADER_LEN].copy_from_slice(&header(reply, query, flags, opt.is_some(), counts));
    Encoded { truncated }
}

fn write_data<const N: usize>(rtype: Rtype, data: &[u8], names: &mut NameTable<N>, out: &mut Vec<u8>) {
    let len_at = out.len();
    out.extend_from_slice(&[0, 0]);
    let compressible = matches!(
        rtype,
        Rtype::NS
            | Rtype::MD
            | Rtype::MF
            | Rtype::CNAME
            | Rtype::SOA
            | Rtype::MB
            | Rtype::MG
            | Rtype::MR
            | Rtype::PTR
            | Rtype::MINFO
            | Rtype::MX
    );
    walk_data(rtype, data, 0, data.len(), |piece| match piece {
        Piece::Bytes(bytes) => out.extend_from_slice(bytes),
        Piece::Name(name) => names.write(name, compressible, out),
    });
    let len = (out.len() - len_at - 2) as u16;
    out[len_at..len_at + 2].copy_from_slice(&len.to_be_bytes());
}
