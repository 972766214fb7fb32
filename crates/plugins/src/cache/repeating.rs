//! Hits that are given again hold until a second of their time to live is over.

use std::time::{Duration, Instant};

use server::{Again, Lasting, Repeating, Sent};
use wire::Opcode;

use super::counters::Side;
use super::{Cache, Inner, is_under_any, miss};

/// What a reply that is given again is counted as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// Nothing of its zone is ever kept.
    Passing,
    Hit(Side),
}

impl Repeating for Cache {
    fn lasting(&self, sent: &mut Sent<'_>) -> Lasting {
        let query = sent.query;
        if query.opcode != Opcode::QUERY || !is_under_any(query.question.lower(), &self.inner.zones) {
            return Lasting::Always;
        }
        if self.is_bypassed(query) {
            return Lasting::Never;
        }
        if sent.is_mine() {
            return self.inner.lasting_hit(sent);
        }
        // What was kept just now is a hit the next time.
        let left_alone = sent.slot().words[0] & miss::LEFT_ALONE != 0;
        if left_alone { Lasting::While([0, Counted::Passing.number()]) } else { Lasting::Never }
    }

    fn holds(&self, [until, number]: [u64; 2], again: &mut Again<'_>) -> bool {
        Counted::of(number) == Counted::Passing
            || self.inner.nanos(self.inner.clock.at(again.began())) < until
    }

    fn again(&self, [_, number]: [u64; 2], again: &mut Again<'_>) {
        let series = self.inner.counters.of(again.server);
        series.requests.inc();
        match Counted::of(number) {
            Counted::Passing => series.misses.inc(),
            Counted::Hit(side) => series.hits(side).inc(),
        }
    }
}

impl Counted {
    fn number(self) -> u64 {
        match self {
            Counted::Passing => 0,
            Counted::Hit(Side::Success) => 1,
            Counted::Hit(Side::Denial) => 2,
        }
    }

    fn of(number: u64) -> Counted {
        match number {
            0 => Counted::Passing,
            1 => Counted::Hit(Side::Success),
            _ => Counted::Hit(Side::Denial),
        }
    }
}

impl Inner {
    /// The entry is looked for again, which is done once for many times that its reply is given.
    fn lasting_hit(&self, sent: &Sent<'_>) -> Lasting {
        // With prefetching every query counts for its entry.
        if self.options.prefetch.amount != 0 {
            return Lasting::Never;
        }
        let now = self.clock.now();
        let Some((side, found)) = self.find(self.hash(sent.query), sent.query, now) else {
            return Lasting::Never;
        };
        let Some(entry) = found.entry().filter(|entry| entry.wildcard.is_none()) else {
            return Lasting::Never;
        };
        let left = entry.left(now);
        let ttl = if self.options.keep_ttl { i64::from(entry.ttl) } else { left };
        let is_so_now = sent.reply.records().iter().all(|record| i64::from(record.ttl) == ttl);
        if left <= 0 || !is_so_now {
            return Lasting::Never;
        }
        let age = now.saturating_duration_since(entry.stored).as_secs();
        let until = entry.stored + Duration::from_secs(age + 1);
        Lasting::While([self.nanos(until), Counted::Hit(side).number()])
    }

    /// A time as a number.
    fn nanos(&self, time: Instant) -> u64 {
        time.saturating_duration_since(self.began).as_nanos() as u64
    }
}
