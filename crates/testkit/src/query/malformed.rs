//! Malformed messages, each in one named way.

use super::{Draft, edns, header};
use crate::random::Random;

macro_rules! malformations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// One way to malform a query.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Malformation { $($(#[$doc])* $variant,)* }

        impl Malformation {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

malformations! {
    ShortHeader = "short header",
    /// Twelve octets with a QDCOUNT of 1.
    HeaderOnly = "header only",
    CutQuestion = "cut question",
    CutOpt = "cut OPT",
    NoQuestion = "qdcount 0, nothing else",
    /// The question is present, but QDCOUNT is 0.
    UncountedQuestion = "qdcount 0, question there",
    TwoQuestions = "two questions",
    /// The second question's name points at the first's: valid, unusual compression.
    TwoQuestionsCompressed = "two questions, second compressed",
    AdditionalMissing = "arcount too large",
    AnswerMissing = "ancount without records",
    AuthorityMissing = "nscount without records",
    EveryCountHuge = "all counts 65535",
    /// A pointer back into the header, at an octet that is zero: valid for a decoder that only checks the direction.
    PointerIntoHeader = "pointer into the header",
    PointerToItself = "pointer to itself",
    PointerLoop = "two pointers in a loop",
    PointerForward = "pointer forward",
    PointerPastTheEnd = "pointer past the end",
    LongLabel = "label of 64 octets",
    UnknownLabelKind = "label kind 10",
    LongName = "name of more than 255 octets",
    TrailingBytes = "trailing bytes",
    ExtraAdditional = "A record in additional",
    ExtraAnswer = "A record in answer",
    ExtraAuthority = "SOA record in authority",
    LongRdlength = "rdlength past the end",
    ShortAddress = "A record of 3 octets",
    OptLongRdlength = "OPT rdlength past the end",
    OptionOverrun = "EDNS option past its record",
    TwoOpts = "two OPT records",
    OptInAnswer = "OPT in answer",
    OptOwner = "OPT not at the root",
    ResponseBit = "response bit set",
}

const OPT_SIZE: u16 = 1232;

impl Malformation {
    /// The query of `draft`, malformed. Keeps its OPT record, if any, where possible.
    pub(super) fn apply(self, random: &mut Random, draft: &Draft) -> Vec<u8> {
        let additional = u16::from(draft.opt.is_some());
        let question = draft.question();
        let opt = draft.opt.clone().unwrap_or_default();
        let whole = |bits: u16, counts: [u16; 4], parts: &[&[u8]]| {
            let mut wire = header(draft.id, bits, counts);
            parts.iter().for_each(|part| wire.extend_from_slice(part));
            wire
        };
        let with = |counts, parts: &[&[u8]]| whole(draft.bits, counts, parts);
        // A question whose name is these bytes.
        let named = |name: &[u8]| {
            let tail = &question[draft.name.wire().len()..];
            with([1, 0, 0, additional], &[name, tail, &opt])
        };
        match self {
            Self::ShortHeader => draft.wire()[..random.below(12)].to_vec(),
            Self::HeaderOnly => with([1, 0, 0, 0], &[]),
            Self::CutQuestion => {
                let n = random.below(question.len());
                with([1, 0, 0, 0], &[&question[..n]])
            }
            Self::CutOpt => {
                let opt = edns::record(OPT_SIZE, 0, 0, &[0, 3, 0, 0]);
                let n = random.between(1, opt.len() - 1);
                with([1, 0, 0, 1], &[&question, &opt[..n]])
            }
            Self::NoQuestion => with([0, 0, 0, additional], &[&opt]),
            Self::UncountedQuestion => with([0, 0, 0, 0], &[&question]),
            Self::TwoQuestions => with([2, 0, 0, additional], &[&question, &question, &opt]),
            Self::TwoQuestionsCompressed => {
                with([2, 0, 0, additional], &[&question, &[0xc0, 12, 0, 1, 0, 1], &opt])
            }
            Self::AdditionalMissing => {
                let more = random.between(1, 5) as u16;
                with([1, 0, 0, additional + more], &[&question, &opt])
            }
            Self::AnswerMissing => with([1, random.between(1, 3) as u16, 0, 0], &[&question]),
            Self::AuthorityMissing => with([1, 0, random.between(1, 3) as u16, 0], &[&question]),
            Self::EveryCountHuge => with([65535; 4], &[&question, &opt]),
            // Octet 4 is the upper half of qdcount, which is 0: the root.
            Self::PointerIntoHeader => named(b"\x03foo\xc0\x04"),
            Self::PointerToItself => named(&[0xc0, 12]),
            Self::PointerLoop => named(&[0xc0, 14, 0xc0, 12]),
            Self::PointerForward => {
                // Points to a name behind the question.
                let target = (12 + 2 + 4) as u8;
                with([1, 0, 0, 0], &[&[0xc0, target], &question[draft.name.wire().len()..], b"\x03foo\x00"])
            }
            Self::PointerPastTheEnd => named(&[0xff, 0xff]),
            Self::LongLabel => {
                let mut name = vec![64];
                name.extend([b'x'; 64]);
                name.push(0);
                named(&name)
            }
            Self::UnknownLabelKind => named(&[0x80 | random.byte() & 0x3f, b'a', b'b', 0]),
            Self::LongName => {
                let mut name = Vec::new();
                for _ in 0..random.between(5, 9) {
                    name.push(63);
                    name.extend([b'y'; 63]);
                }
                name.push(0);
                named(&name)
            }
            Self::TrailingBytes => {
                let n = random.between(1, 40);
                [draft.wire(), random.bytes(n)].concat()
            }
            Self::ExtraAdditional => with([1, 0, 0, additional + 1], &[&question, &address(4, 4), &opt]),
            Self::ExtraAnswer => with([1, 1, 0, additional], &[&question, &address(4, 4), &opt]),
            Self::ExtraAuthority => with([1, 0, 1, additional], &[&question, &soa(), &opt]),
            Self::LongRdlength => with([1, 0, 0, 1], &[&question, &address(40, 4)]),
            Self::ShortAddress => with([1, 0, 0, 1], &[&question, &address(3, 3)]),
            Self::OptLongRdlength => {
                let mut opt = edns::record(OPT_SIZE, 0, 0, &[]);
                let last = opt.len() - 1;
                opt[last] = 9;
                with([1, 0, 0, 1], &[&question, &opt])
            }
            Self::OptionOverrun => {
                with([1, 0, 0, 1], &[&question, &edns::record(OPT_SIZE, 0, 0, &[0, 10, 0, 9, 1])])
            }
            Self::TwoOpts => {
                let (a, b) = (edns::record(OPT_SIZE, 0, 0, &[]), edns::record(4096, 0, 0x8000, &[]));
                with([1, 0, 0, 2], &[&question, &a, &b])
            }
            Self::OptInAnswer => with([1, 1, 0, 0], &[&question, &edns::record(OPT_SIZE, 0, 0, &[])]),
            Self::OptOwner => {
                let opt = edns::record(OPT_SIZE, 0, 0, &[]);
                with([1, 0, 0, 1], &[&question, b"\x03foo", &opt])
            }
            Self::ResponseBit => whole(draft.bits | 0x8000, [1, 0, 0, additional], &[&question, &opt]),
        }
    }
}

/// An A record with RDLENGTH `length` and `octets` octets of data.
fn address(length: u8, octets: usize) -> Vec<u8> {
    let mut wire = b"\x03foo\x00\x00\x01\x00\x01\x00\x00\x00\x1e\x00".to_vec();
    wire.push(length);
    wire.extend(&[192, 0, 2, 1][..octets]);
    wire
}

fn soa() -> Vec<u8> {
    let mut wire = b"\x00\x00\x06\x00\x01\x00\x00\x00\x1e\x00\x16\x00\x00".to_vec();
    wire.extend([0; 20]);
    wire
}
