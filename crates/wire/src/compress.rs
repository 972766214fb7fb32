//! The slow way to write a reply: every name compressed, and cut to what the client can take.
//!
//! Records are added in order until one does not fit; from there on nothing is, and TC is set. Room for OPT
//! is kept. Names compress case-sensitively against every name written before, as the server we compare
//! with does, because that decides which records still fit.

mod names;

use self::names::{FEW_PLACES, Names, PLACES, SHORT};
use crate::record::{Piece, walk_data};
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
    // A table for the longest message takes longer to clear than a short one to write.
    if limit <= SHORT {
        encode_with::<FEW_PLACES>(reply, query, opt, limit, out)
    } else {
        encode_with::<PLACES>(reply, query, opt, limit, out)
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
    let mut names = Names::<N>::new();
    write_question(query, out);
    if query.has_question() {
        names.learn(query.question.name(), HEADER_LEN);
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

fn write_data<const N: usize>(rtype: Rtype, data: &[u8], names: &mut Names<N>, out: &mut Vec<u8>) {
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
