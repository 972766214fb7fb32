//! Replies that are given again: the same packet while nothing changed that its reply was made of.
//!
//! ```text
//! packet ─→ known? ─ all plugins on its way say it holds ─→ they count it ─→ the same reply, with the packet's id
//!             └ no ─→ walk ─→ reply ─ came a second time, and all plugins on its way say how long it holds ─→ kept
//! ```
//!
//! Every worker has replies of its own, so nothing is shared and nothing locked. Whether a reply holds is the plugins' to
//! say ([`Repeating`]): one that cannot tell keeps all replies that pass it out of here.

mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::walk::Walk;
use crate::{Client, Lasting, Outcome, Service};

use table::{Held, MOST_HELD, Of, Table};

pub(crate) use table::Asked;

/// What all workers together may keep, in octets.
const MOST_MEMORY: usize = 32 << 20;
/// What one worker keeps at most: more than there are names in use in most clusters.
const MOST_REPLIES: usize = 24 << 10;

/// The replies of one worker.
pub(crate) struct Repeats {
    table: Table,
    /// When the last query ended, if anybody looked; the next one of a batch begins then.
    pub clock: Option<Instant>,
}

/// A reply that is given once more, as plugins on its way see it.
pub struct Again<'a> {
    pub client: &'a Client,
    /// The listener, as metrics label it.
    pub server: &'a str,
    clock: &'a mut Option<Instant>,
    began: Option<Instant>,
}

impl Again<'_> {
    /// When the query came.
    pub fn began(&mut self) -> Instant {
        *self.began.get_or_insert_with(|| self.clock.unwrap_or_else(Instant::now))
    }

    /// How long it took.
    pub fn elapsed(&mut self) -> Duration {
        let began = self.began();
        let now = Instant::now();
        *self.clock = Some(now);
        now.saturating_duration_since(began)
    }
}

impl Repeats {
    /// For one of so many workers.
    pub fn new(workers: usize) -> Repeats {
        let fair = MOST_MEMORY / workers.max(1) / table::BYTES_PER_REPLY;
        Repeats { table: Table::new(fair.min(MOST_REPLIES)), clock: None }
    }

    /// How a packet is looked for; its hash is known if it was foreseen.
    #[inline]
    pub fn asked<'p>(&self, packet: &'p [u8], hash: Option<u64>) -> Asked<'p> {
        self.table.asked(packet, hash)
    }

    /// Gives the reply to a packet again, if it is known and holds. Its id is left to be set.
    #[inline]
    pub fn give(&mut self, asked: Asked<'_>, service: &Service, client: &Client, out: &mut Vec<u8>) -> bool {
        let Some(found) = self.table.find(asked, service.number) else { return false };
        let Some(block) = service.block(found.block()) else { return false };
        let clock = &mut self.clock;
        let mut again = Again { client, server: &service.label, clock, began: None };
        let plugin = |held: &Held| block.chain().get(held.place).and_then(|plugin| plugin.as_repeating());
        if !found.held().all(|held| plugin(&held).is_some_and(|it| it.holds(held.kept, &mut again))) {
            return false;
        }
        found.held().filter_map(|held| Some((plugin(&held)?, held.kept))).for_each(|(it, kept)| {
            it.again(kept, &mut again);
        });
        out.clear();
        out.extend_from_slice(found.reply());
        true
    }

    /// Keeps the reply to a packet that came before, if it will hold.
    #[inline]
    pub fn keep(&mut self, asked: Asked<'_>, service: &Arc<Service>, walk: &mut Walk, reply: &[u8]) {
        if walk.trail.outcome == Outcome::Records && asked.fits(reply) && self.table.came(asked) {
            self.keep_known(asked, service, walk, reply);
        }
    }

    fn keep_known(&mut self, asked: Asked<'_>, service: &Arc<Service>, walk: &mut Walk, reply: &[u8]) {
        let Ok(block) = service.choose(walk) else { return };
        let wanted = block.wants_query | block.wants_records | block.wants_sent;
        let mut held = [Held::default(); MOST_HELD];
        let mut count = 0;
        let mut left = wanted & walk.as_far_as_it_came();
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(plugin) = block.chain()[place].as_repeating() else { return };
            let mut sent = walk.sent(block, place);
            match plugin.lasting(&mut sent) {
                Lasting::Never => return,
                Lasting::Always => {}
                Lasting::While(kept) => {
                    let Some(free) = held.get_mut(count) else { return };
                    *free = Held { place, kept };
                    count += 1;
                }
            }
        }
        if let Some(number) = service.number_of(block) {
            let of = Of { service: service.number, block: number };
            self.table.put(asked, of, &held[..count], reply);
        }
    }

    /// Reads what [`Repeats::give`] will read for these packets. Leaves their hashes, and tells which of them are not here,
    /// a bit for each.
    pub fn foresee<'p, const N: usize>(
        &self,
        packets: impl Iterator<Item = &'p [u8]>,
        hashes: &mut [u64; N],
    ) -> u64 {
        self.table.fetch(packets, hashes)
    }
}
