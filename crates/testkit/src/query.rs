//! Generates queries from a seed: usual ones, unusual ones and malformed ones.
//!
//! The same seed, pools and options yield the same queries, so the seed in a failed test's output
//! reproduces the failure.

mod edns;
mod malformed;
mod odd_names;

use crate::client::Transport;
use crate::message::flag_names;
use crate::mnemonic;
use crate::name::Name;
use crate::random::{Random, seed_from_env};

pub use malformed::Malformation;

/// A query ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedQuery {
    pub wire: Vec<u8>,
    pub transport: Transport,
    /// Question, flags and oddities, for failure messages.
    pub description: String,
}

/// A group of query names, and its weight among the pools.
#[derive(Clone, Debug)]
pub struct Pool {
    pub weight: u32,
    pub names: Vec<Name>,
}

impl Pool {
    /// # Panics
    /// When a name cannot be parsed: pools are written in tests, where a panic is the right message.
    pub fn new<'a>(weight: u32, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter().map(|n| Name::parse(n).unwrap_or_else(|e| panic!("{e}"))).collect();
        Self { weight, names }
    }
}

/// Frequency of each kind of oddity; every field is a probability per query unless noted.
#[derive(Clone, Debug)]
pub struct Options {
    /// A malformed message, see [`Malformation`].
    pub malformed: f64,
    /// A name from no pool: root, binary labels, the longest possible.
    pub odd_names: f64,
    /// A name near one of a pool: below it, above it, beside it.
    pub near_names: f64,
    /// Class other than IN, opcode other than QUERY, header bits that queries do not have.
    pub odd_headers: f64,
    /// Class CH, HS or ANY in an otherwise usual query.
    pub classes: f64,
    /// An OPT record.
    pub edns: f64,
    /// Sent over TCP.
    pub tcp: f64,
    /// Letters in random case.
    pub mixed_case: f64,
    /// Whether AXFR and IXFR are queried. Off by default, since the client reads one message only.
    pub transfers: bool,
    /// The query types, with weights; empty for the default mix.
    pub types: Vec<(u32, u16)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            malformed: 0.0,
            odd_names: 0.05,
            near_names: 0.25,
            odd_headers: 0.1,
            classes: 0.0,
            edns: 0.5,
            tcp: 0.2,
            mixed_case: 0.4,
            transfers: false,
            types: Vec::new(),
        }
    }
}

/// The types of the default mix. Type 0 stands for a random number.
const TYPES: &[(u32, u16)] = &[
    (30, 1),
    (20, 28),
    (6, 12),
    (8, 33),
    (6, 16),
    (4, 15),
    (5, 2),
    (5, 6),
    (4, 5),
    (3, 43),
    (4, 65),
    (2, 64),
    (3, 255),
    (1, 13),
    (2, 257),
    (1, 48),
    (1, 39),
    (3, 0),
];

/// An endless iterator of queries.
#[derive(Clone, Debug)]
pub struct Generator {
    seed: u64,
    random: Random,
    pools: Vec<(u32, Vec<Name>)>,
    types: Vec<(u32, u16)>,
    options: Options,
    /// Counts up from a random start, so that 65,536 queries in a row have distinct ids.
    next_id: u16,
}

/// The parts of a well-formed query, before it is encoded or malformed.
struct Draft {
    id: u16,
    bits: u16,
    name: Name,
    qtype: u16,
    class: u16,
    /// The OPT record, if any.
    opt: Option<Vec<u8>>,
}

impl Draft {
    fn question(&self) -> Vec<u8> {
        let mut wire = self.name.wire().to_vec();
        wire.extend(self.qtype.to_be_bytes());
        wire.extend(self.class.to_be_bytes());
        wire
    }

    fn wire(&self) -> Vec<u8> {
        let additional = u16::from(self.opt.is_some());
        let mut wire = header(self.id, self.bits, [1, 0, 0, additional]);
        wire.extend(self.question());
        wire.extend(self.opt.iter().flatten());
        wire
    }
}

fn header(id: u16, bits: u16, counts: [u16; 4]) -> Vec<u8> {
    [id, bits].into_iter().chain(counts).flat_map(u16::to_be_bytes).collect()
}

impl Generator {
    /// Picks names from the pools by weight; without pools all names are odd.
    pub fn new(seed: u64, pools: impl IntoIterator<Item = Pool>, options: Options) -> Self {
        let mut random = Random::new(seed);
        let types = if options.types.is_empty() { TYPES.to_vec() } else { options.types.clone() };
        let pools = pools.into_iter().filter(|p| p.weight > 0 && !p.names.is_empty());
        let pools = pools.map(|p| (p.weight, p.names)).collect();
        let next_id = random.u16();
        Self { seed, random, pools, types, options, next_id }
    }

    /// Seeded by `RHUMB_SEED` or the time; the seed is printed.
    pub fn from_env(pools: impl IntoIterator<Item = Pool>, options: Options) -> Self {
        Self::new(seed_from_env(), pools, options)
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    fn generate(&mut self) -> GeneratedQuery {
        let transport = if self.random.chance(self.options.tcp) { Transport::Tcp } else { Transport::Udp };
        let name = self.name();
        let qtype = self.qtype(&name);
        let mut draft = Draft { id: self.next_id, bits: self.usual_bits(), name, qtype, class: 1, opt: None };
        self.next_id = self.next_id.wrapping_add(1);
        if self.random.chance(self.options.odd_headers) {
            self.odd_header(&mut draft);
        }
        // Draws a random number only if enabled: other queries stay the same for a seed.
        if self.options.classes > 0.0 && self.random.chance(self.options.classes) {
            draft.class = *self.random.pick(&[3, 4, 255]);
        }
        let mut edns = String::new();
        if self.random.chance(self.options.edns) {
            let (opt, words) = edns::opt(&mut self.random);
            draft.opt = Some(opt);
            edns = format!(" {words}");
        }
        let malformation =
            self.random.chance(self.options.malformed).then(|| *self.random.pick(Malformation::ALL));
        let wire = match malformation {
            Some(malformation) => malformation.apply(&mut self.random, &draft),
            None => draft.wire(),
        };
        let description = format!(
            "{}{} {} {} {} id {} [{}]{edns}{}",
            if transport == Transport::Tcp { "tcp " } else { "udp " },
            mnemonic::of_opcode(draft.bits >> 11 & 0xf),
            draft.name,
            mnemonic::of_class(draft.class),
            mnemonic::of_type(draft.qtype),
            draft.id,
            flag_names(draft.bits),
            malformation.map(|m| format!(" malformed: {}", m.name())).unwrap_or_default(),
        );
        GeneratedQuery { wire, transport, description }
    }

    fn name(&mut self) -> Name {
        let random = &mut self.random;
        let mut name = if self.pools.is_empty() || random.chance(self.options.odd_names) {
            odd_names::any(random)
        } else {
            let names = random.weighted(&self.pools);
            random.pick(names).clone()
        };
        if random.chance(self.options.near_names) {
            name = odd_names::near(random, &name);
        }
        if random.chance(self.options.mixed_case) {
            name = odd_names::mixed_case(random, &name);
        }
        name
    }

    /// Mostly PTR for reverse names and SRV for names with underscores.
    fn qtype(&mut self, name: &Name) -> u16 {
        let wire = name.wire().to_ascii_lowercase();
        if self.options.types.is_empty() && self.random.chance(0.6) {
            if wire.ends_with(b"\x04arpa\x00") {
                return 12;
            }
            if wire.get(1) == Some(&b'_') || wire.windows(5).any(|w| w == b"\x04_tcp" || w == b"\x04_udp") {
                return 33;
            }
        }
        if self.options.transfers && self.random.chance(0.02) {
            return *self.random.pick(&[251, 252]);
        }
        match *self.random.weighted(&self.types) {
            0 => loop {
                // OPT, TKEY, TSIG, transfers and mailbox types have a special meaning in a question.
                let random = self.random.u16();
                if !matches!(random, 41 | 249..=254) {
                    break random;
                }
            },
            qtype => qtype,
        }
    }

    fn usual_bits(&mut self) -> u16 {
        let mut bits = 0;
        for (bit, chance) in [(0x0100, 0.85), (0x0020, 0.1), (0x0010, 0.1)] {
            if self.random.chance(chance) {
                bits |= bit;
            }
        }
        bits
    }

    fn odd_header(&mut self, draft: &mut Draft) {
        let random = &mut self.random;
        match random.below(4) {
            0 => draft.class = *random.weighted(&[(4, 3), (2, 4), (4, 255), (1, 254), (1, 0), (1, 0xfefe)]),
            1 => {
                let opcode: u16 =
                    *random.weighted(&[(4, 4), (3, 2), (3, 5), (2, 1), (1, 3), (1, 6), (1, 15)]);
                draft.bits |= opcode << 11;
            }
            2 => draft.bits |= *random.pick(&[0x0400, 0x0200, 0x0080, 0x0040, 0x06c0]),
            _ => draft.bits |= random.between(1, 15) as u16,
        }
    }
}

impl Iterator for Generator {
    type Item = GeneratedQuery;

    /// Never ends.
    fn next(&mut self) -> Option<GeneratedQuery> {
        Some(self.generate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use std::collections::BTreeSet;

    fn pools() -> [Pool; 2] {
        [
            Pool::new(3, ["a.example.org", "_http._tcp.b.example.org", "1.0.0.10.in-addr.arpa"]),
            Pool::new(1, ["example.com"]),
        ]
    }

    fn take(seed: u64, options: Options, n: usize) -> Vec<GeneratedQuery> {
        Generator::new(seed, pools(), options).take(n).collect()
    }

    #[test]
    fn same_seed_same_queries() {
        let options = Options { malformed: 0.2, ..Options::default() };
        assert_eq!(take(5, options.clone(), 2000), take(5, options.clone(), 2000));
        assert_ne!(take(5, options.clone(), 20), take(6, options, 20));
    }

    #[test]
    fn well_formed_queries_decode() {
        let options = Options { transfers: true, odd_names: 0.3, ..Options::default() };
        for query in take(1, options, 5000) {
            let m = Message::decode(&query.wire);
            assert_eq!(
                (m.broken, m.trailing.len(), m.questions.len()),
                (None, 0, 1),
                "{}",
                query.description
            );
            assert!(m.questions[0].name.wire().len() <= 255, "{}", query.description);
            assert!(m.opts.len() <= 1 && m.additional.is_empty(), "{}", query.description);
        }
    }

    #[test]
    fn every_kind_is_generated() {
        let options = Options { malformed: 0.1, ..Options::default() };
        let all: String = take(2, options, 20_000).iter().map(|q| format!("{}\n", q.description)).collect();
        let types: BTreeSet<_> = TYPES.iter().map(|(_, t)| mnemonic::of_type(*t)).collect();
        let mut expected: Vec<String> =
            types.iter().filter(|t| *t != "TYPE0").map(|t| format!(" {t} id")).collect();
        expected.extend(Malformation::ALL.iter().map(|m| format!("malformed: {}", m.name())));
        expected.extend(
            ["udp QUERY", "tcp QUERY", "NOTIFY", "STATUS", "UPDATE", "IQUERY", " CH ", " HS ", " IN TYPE"]
                .map(String::from),
        );
        expected.extend(
            ["size 0", "size 511", "size 512", "size 1232", "size 4096", "size 65535"].map(String::from),
        );
        expected.extend(
            ["version 1", "DO", "NSID", "COOKIE", "ECS", "EXPIRE", "PADDING", "KEEPALIVE"].map(String::from),
        );
        expected.extend(
            ["EDE", "OPTION", "[rd,ad,cd]", "z", "tc", "aa", "QUERY . ", "QUERY *."].map(String::from),
        );
        for expected in expected {
            assert!(all.contains(&expected), "{expected:?} was never generated");
        }
    }

    #[test]
    fn rates_are_respected() {
        let plain = Options {
            odd_names: 0.0,
            near_names: 0.0,
            odd_headers: 0.0,
            edns: 0.0,
            tcp: 0.0,
            mixed_case: 0.0,
            types: vec![(1, 1)],
            ..Options::default()
        };
        let names: BTreeSet<String> = pools().iter().flat_map(|p| &p.names).map(Name::to_string).collect();
        let mut seen = BTreeSet::new();
        for query in take(3, plain, 500) {
            let m = Message::decode(&query.wire);
            let question = &m.questions[0];
            assert_eq!((question.qtype, question.class, m.opts.len()), (1, 1, 0));
            seen.insert(question.name.to_string());
        }
        assert_eq!(seen, names);
        let all = Options { malformed: 1.0, ..Options::default() };
        assert!(take(4, all, 500).iter().all(|q| q.description.contains("malformed")));
    }

    #[test]
    fn consecutive_ids_differ() {
        let ids: BTreeSet<u16> = take(9, Options::default(), 1000)
            .iter()
            .map(|q| u16::from_be_bytes([q.wire[0], q.wire[1]]))
            .collect();
        assert_eq!(ids.len(), 1000);
    }
}
