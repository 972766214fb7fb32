//! Where replies lie: sets of eight places, and behind them rows of one size, used in turn.
//!
//! ```text
//! packet ─hash─→ set: eight tags and rows ─→ row: its head, one line of the processor's cache, and its octets
//! ```
//!
//! All memory is asked for at once and zeroed, so that the system gives it out as it is used, and nothing is allocated
//! later. A row that is taken for another packet needs not be told to its old place: the octets are compared.

use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;

use foldhash::fast::RandomState;
use wire::HEADER_LEN;

/// Plugins that remember something of one reply.
pub(super) const MOST_HELD: usize = 3;

/// What a row costs, with its places.
pub(super) const BYTES_PER_REPLY: usize =
    size_of::<Head>() + size_of::<Octets>() + PLACES_PER_ROW * size_of::<Set>() / WAYS;

/// Places of a set; they are read at once.
const WAYS: usize = 8;
/// More places than rows, since packets that came once have one too.
const PLACES_PER_ROW: usize = 2;
/// Octets of a packet, without its id, and of its reply.
const OCTETS: usize = 256;
/// The octets of a packet's id, which is another one each time.
const ID: usize = 2;

/// Tags, and for each its row, counted from 1; 0 while the packet came only once.
type Set = [[u32; WAYS]; 2];
/// What a row is, and two words for each plugin.
type Head = [u64; 2 + 2 * MOST_HELD];
/// The packet, and the reply right behind it. In pieces, since a longer array is zeroed by hand and takes its memory at once.
type Octets = [[u8; 16]; OCTETS / 16];

/// A packet, as it is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'p> {
    hash: u64,
    /// All but the id.
    octets: &'p [u8],
}

/// What one plugin remembers of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// The plugin's place in the chain.
    pub place: usize,
    pub kept: [u64; 2],
}

/// Whose reply it is, by their numbers.
#[derive(Clone, Copy)]
pub(super) struct Of {
    pub service: u32,
    pub block: u8,
}

pub(super) struct Table {
    seed: RandomState,
    /// As many as a power of two.
    sets: Vec<Set>,
    heads: Vec<Head>,
    octets: Vec<Octets>,
    /// The row to be used next.
    next: usize,
    /// Which place of a full set is given away next.
    turn: usize,
}

/// A reply that is known.
pub(super) struct Row<'t> {
    head: &'t Head,
    octets: &'t [u8],
}

impl Table {
    pub fn new(rows: usize) -> Table {
        let rows = rows.max(1);
        let sets = (rows * PLACES_PER_ROW).div_ceil(WAYS).next_power_of_two();
        // Nothing but zeros, which the allocator has for nothing.
        Table {
            seed: RandomState::default(),
            sets: vec![[[0; WAYS]; 2]; sets],
            heads: vec![[0; _]; rows],
            octets: vec![[[0; _]; _]; rows],
            next: 0,
            turn: 0,
        }
    }

    /// With the hash that [`Table::fetch`] found, if it did.
    #[inline]
    pub fn asked<'p>(&self, packet: &'p [u8], hash: Option<u64>) -> Asked<'p> {
        let octets = packet.get(ID..).unwrap_or_default();
        Asked { hash: hash.unwrap_or_else(|| self.hash(octets)), octets }
    }

    #[inline]
    pub fn find(&self, asked: Asked<'_>, service: u32) -> Option<Row<'_>> {
        let row = self.row(asked.hash)?;
        (row.service() == service && row.packet() == asked.octets).then_some(row)
    }

    /// Whether a packet came before. From now on it did.
    #[inline]
    pub fn came(&mut self, asked: Asked<'_>) -> bool {
        let at = self.set(asked.hash);
        let [tags, rows] = &mut self.sets[at];
        let tag = tag(asked.hash);
        if place_of(tags, tag).is_some() {
            return true;
        }
        let free = place_of(tags, 0).unwrap_or_else(|| {
            self.turn = (self.turn + 1) % WAYS;
            self.turn
        });
        (tags[free], rows[free]) = (tag, 0);
        false
    }

    /// Keeps the reply to a packet that [`Table::came`] before and [`Asked::fits`].
    pub fn put(&mut self, asked: Asked<'_>, of: Of, held: &[Held], reply: &[u8]) {
        let at = self.set(asked.hash);
        let [tags, rows] = &mut self.sets[at];
        let tag = tag(asked.hash);
        let Some(place) = place_of(tags, tag) else { return };
        let row = match (rows[place] as usize).checked_sub(1) {
            // Its own one, unless that has been given away.
            Some(row) if self.heads[row][0] >> 32 == u64::from(tag) => row,
            _ => {
                let row = self.next;
                self.next = (row + 1) % self.heads.len();
                row
            }
        };
        rows[place] = row as u32 + 1;
        let head = &mut self.heads[row];
        let lengths = (asked.octets.len() as u64) << 8 | reply.len() as u64;
        head[0] = u64::from(tag) << 32 | held.len() as u64;
        head[1] = u64::from(of.service) << 32 | u64::from(of.block) << 16 | lengths;
        for (at, Held { place, kept }) in held.iter().take(MOST_HELD).enumerate() {
            head[0] |= (*place as u64 & 0xFF) << (8 * (at + 1));
            head[2 + 2 * at..][..2].copy_from_slice(kept);
        }
        let (packet, rest) = self.octets[row].as_flattened_mut().split_at_mut(asked.octets.len());
        packet.copy_from_slice(asked.octets);
        rest[..reply.len()].copy_from_slice(reply);
    }

    /// Reads a little of everything that [`Table::find`] will read for these packets, each step for all of them: the
    /// processor waits for them together. Leaves their hashes, and tells which of them are not here, a bit for each.
    pub fn fetch<'p, const N: usize>(
        &self,
        packets: impl Iterator<Item = &'p [u8]>,
        hashes: &mut [u64; N],
    ) -> u64 {
        const { assert!(N <= 64, "there are 64 bits") };
        let (mut read, mut unknown, mut count) = (0, 0, 0);
        for (packet, hash) in packets.zip(&mut *hashes) {
            *hash = self.hash(packet.get(ID..).unwrap_or_default());
            read ^= u64::from(self.sets[self.set(*hash)][0][0]);
            count += 1;
        }
        for (at, hash) in hashes.iter().enumerate().take(count) {
            match self.row(*hash) {
                Some(row) => {
                    // The lines behind these two come by themselves.
                    read ^= row.head[0] ^ u64::from(row.octets[0] ^ row.octets[OCTETS / 2]);
                }
                None => unknown |= 1 << at,
            }
        }
        black_box(read);
        unknown
    }

    /// The row of a tag, be it of this packet or of another.
    #[inline]
    fn row(&self, hash: u64) -> Option<Row<'_>> {
        let [tags, rows] = &self.sets[self.set(hash)];
        let row = (rows[place_of(tags, tag(hash))?] as usize).checked_sub(1)?;
        Some(Row { head: self.heads.get(row)?, octets: self.octets.get(row)?.as_flattened() })
    }

    #[inline]
    fn hash(&self, octets: &[u8]) -> u64 {
        let mut hasher = self.seed.build_hasher();
        hasher.write(octets);
        hasher.finish()
    }

    #[inline]
    fn set(&self, hash: u64) -> usize {
        hash as usize & (self.sets.len() - 1)
    }
}

impl Asked<'_> {
    /// Whether a row has room for it and its reply.
    #[inline]
    pub fn fits(&self, reply: &[u8]) -> bool {
        self.octets.len() >= HEADER_LEN - ID
            && reply.len() >= HEADER_LEN
            && reply.len() <= usize::from(u8::MAX)
            && self.octets.len() + reply.len() <= OCTETS
    }
}

/// The upper half of a hash, and never zero.
#[inline]
fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32 | 1
}

/// All are compared at once: that is quicker than to stop at the first.
#[inline]
fn place_of(tags: &[u32; WAYS], tag: u32) -> Option<usize> {
    let mut equal = 0_u32;
    for (place, other) in tags.iter().enumerate() {
        equal |= u32::from(*other == tag) << place;
    }
    (equal != 0).then_some(equal.trailing_zeros() as usize)
}

impl Row<'_> {
    #[inline]
    fn service(&self) -> u32 {
        (self.head[1] >> 32) as u32
    }

    /// The number of the block in its service.
    #[inline]
    pub fn block(&self) -> usize {
        usize::from((self.head[1] >> 16) as u8)
    }

    #[inline]
    fn packet(&self) -> &[u8] {
        &self.octets[..self.packet_len()]
    }

    #[inline]
    fn packet_len(&self) -> usize {
        usize::from((self.head[1] >> 8) as u8)
    }

    #[inline]
    pub fn reply(&self) -> &[u8] {
        let start = self.packet_len();
        self.octets.get(start..start + usize::from(self.head[1] as u8)).unwrap_or_default()
    }

    /// What plugins remember.
    #[inline]
    pub fn held(&self) -> impl Iterator<Item = Held> + use<'_> {
        let count = (self.head[0] as u8 as usize).min(MOST_HELD);
        (0..count).map(|at| Held {
            place: usize::from((self.head[0] >> (8 * (at + 1))) as u8),
            kept: [self.head[2 + 2 * at], self.head[3 + 2 * at]],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(id: u16, name: &str) -> Vec<u8> {
        [&id.to_be_bytes()[..], &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0], name.as_bytes()].concat()
    }

    fn find<'t>(table: &'t Table, packet: &[u8], service: u32) -> Option<Row<'t>> {
        table.find(table.asked(packet, None), service)
    }

    fn held(count: usize) -> Vec<Held> {
        (0..count).map(|n| Held { place: 60 + n, kept: [u64::MAX - n as u64, n as u64] }).collect()
    }

    /// Keeps a packet, coming for the second time, with itself as its reply.
    fn keep(table: &mut Table, packet: &[u8], service: u32, held: &[Held]) {
        let asked = table.asked(packet, None);
        table.came(asked);
        assert!(table.came(asked) && asked.fits(packet));
        table.put(asked, Of { service, block: 9 }, held, packet);
    }

    #[test]
    fn what_was_put_is_found() {
        for count in 0..=MOST_HELD {
            let mut table = Table::new(64);
            let first = packet(1, "www.example.org");
            let asked = table.asked(&first, None);
            assert!(!table.came(asked) && table.came(asked));
            assert!(find(&table, &first, 7).is_none(), "it came and was not kept");
            keep(&mut table, &first, 7, &held(count));
            let found = find(&table, &packet(2, "www.example.org"), 7).unwrap();
            assert_eq!((found.reply(), found.block()), (&first[..], 9));
            assert_eq!(found.held().collect::<Vec<_>>(), held(count));
            for (other, service) in [("WWW.example.org", 7), ("www.example.org", 8), ("www.example.orgs", 7)]
            {
                assert!(find(&table, &packet(1, other), service).is_none(), "{other} {service}");
            }
            keep(&mut table, &first, 8, &[]);
            assert!(find(&table, &first, 7).is_none() && find(&table, &first, 8).is_some());
            assert_eq!(table.next, 1, "the same packet keeps its row");
        }
    }

    #[test]
    fn what_fits() {
        for (packet, reply, fits) in [
            (12, 12, true),
            (11, 12, false),
            (12, 11, false),
            (12, 246, true),
            (12, 247, false),
            (13, 246, false),
            (100, 158, true),
            (2, 256, false),
        ] {
            let packet_octets = vec![0; packet];
            let asked = Table::new(1).asked(&packet_octets, None).fits(&vec![0; reply]);
            assert_eq!(asked, fits, "{packet} {reply}");
        }
    }

    /// However full it is, what is found is what was put.
    #[test]
    fn a_full_table_forgets_and_never_mixes_up() {
        let mut table = Table::new(100);
        let mut found = 0;
        for round in 0..3 {
            for n in 0..400_u16 {
                let packet = packet(n, &format!("name-{n}"));
                if let Some(row) = find(&table, &packet, 1) {
                    assert_eq!(row.reply()[2..], packet[2..]);
                    found += 1;
                }
                keep(&mut table, &packet, 1, &held(2));
                let row = find(&table, &packet, 1).expect("it was just put");
                assert_eq!((row.reply(), row.held().count()), (&packet[..], 2), "{round} {n}");
            }
        }
        assert_eq!(found, 0, "the rows of those that came first were used for others");
        let last = packet(0, "name-399");
        let mut hashes = [0; 8];
        let unknown = table.fetch([&last[..], b"", &packet(0, "never")].into_iter(), &mut hashes);
        assert_eq!(unknown, 0b110);
        assert!(table.find(table.asked(&last, Some(hashes[0])), 1).is_some());
        assert_eq!(hashes[3..], [0; 5]);
    }

    /// A worker that repeats nothing needs nothing.
    #[test]
    fn memory_is_taken_as_it_is_used() {
        let resident = || {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        let before = resident();
        let mut table = Table::new(100_000);
        let empty = resident() - before;
        (0..1000).for_each(|n| keep(&mut table, &packet(1, &format!("name-{n}")), 1, &[]));
        let used = resident() - before;
        assert!(empty < 1 << 20 && used < 8 << 20, "{empty} octets, then {used}");
    }
}
