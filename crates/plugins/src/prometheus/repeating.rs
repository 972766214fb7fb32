//! Replies that are given again are counted as the first one was.

use server::{Again, Lasting, Repeating, Sent};
use wire::Rcode;

use super::Prometheus;
use super::cells::Seen;
use super::qtype;

impl Repeating for Prometheus {
    fn lasting(&self, sent: &mut Sent<'_>) -> Lasting {
        let [_, _, cells, sizes] = sent.slot().words;
        if cells == 0 {
            return Lasting::Always;
        }
        let Ok(cells) = u16::try_from(cells) else { return Lasting::Never };
        let question = Asked {
            cells,
            qtype: qtype::index(sent.query.question.qtype) as u8,
            dnssec_ok: sent.query.dnssec_ok(),
            rcode: sent.reply.rcode.0,
            // Nobody's is 0.
            column: sent.answered_at().map_or(0, |place| place as u8 + 1),
        };
        Lasting::While([question.pack(), sizes])
    }

    fn again(&self, kept: [u64; 2], again: &mut Again<'_>) {
        let asked = Asked::unpack(kept[0]);
        let at = usize::from(asked.cells).checked_sub(1);
        let Some(cells) = at.and_then(|at| self.table.get()?.cells(at)) else { return };
        cells.count(&Seen {
            client: again.client,
            qtype: usize::from(asked.qtype),
            dnssec_ok: asked.dnssec_ok,
            rcode: Rcode(asked.rcode),
            place: usize::from(asked.column).checked_sub(1),
            request_size: (kept[1] >> 32) as usize,
            response_size: kept[1] as u32 as usize,
            seconds: again.elapsed().as_secs_f64(),
        });
    }
}

/// What a reply is counted under, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    cells: u16,
    rcode: u16,
    qtype: u8,
    column: u8,
    dnssec_ok: bool,
}

impl Asked {
    fn pack(self) -> u64 {
        let [a, b] = self.cells.to_le_bytes();
        let [c, d] = self.rcode.to_le_bytes();
        u64::from_le_bytes([a, b, c, d, self.qtype, self.column, u8::from(self.dnssec_ok), 0])
    }

    fn unpack(word: u64) -> Asked {
        let [a, b, c, d, qtype, column, dnssec_ok, _] = word.to_le_bytes();
        Asked {
            cells: u16::from_le_bytes([a, b]),
            rcode: u16::from_le_bytes([c, d]),
            qtype,
            column,
            dnssec_ok: dnssec_ok != 0,
        }
    }
}
