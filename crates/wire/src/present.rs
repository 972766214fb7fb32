//! Replies and records in presentation format, for `explain` and tests; never on the answer path.

mod data;
mod service;

use std::fmt::Write;

use crate::{Flags, Name, Question, Record, Reply, Section};

pub use data::present_data;

impl Reply {
    /// A line with rcode and flags, then one line per record after the name of its section.
    pub fn present(&self, question: &Question) -> String {
        let mut text = format!("{} {}\n", self.rcode, flag_words(self.flags));
        for (section, title) in [
            (Section::Answer, "answer"),
            (Section::Authority, "authority"),
            (Section::Additional, "additional"),
        ] {
            for record in self.section(section) {
                let _ = writeln!(text, "{title}: {}", self.present_record(record, question.name()));
            }
        }
        text
    }

    /// One record as in a zone file.
    pub fn present_record(&self, record: &Record, question: Name<'_>) -> String {
        let owner = self.owner(record, question);
        let data = present_data(record.rtype, self.data(record));
        format!("{owner} {} {} {} {data}", record.ttl, record.class, record.rtype)
    }
}

/// The set flags, in dig's words and order.
pub(crate) fn flag_words(flags: Flags) -> String {
    [
        (Flags::QR, "qr"),
        (Flags::AA, "aa"),
        (Flags::TC, "tc"),
        (Flags::RD, "rd"),
        (Flags::RA, "ra"),
        (Flags::Z, "z"),
        (Flags::AD, "ad"),
        (Flags::CD, "cd"),
    ]
    .iter()
    .filter(|(flag, _)| flags.has(*flag))
    .map(|(_, word)| *word)
    .collect::<Vec<_>>()
    .join(",")
}
