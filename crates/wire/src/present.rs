//! Replies and records in presentation format, for `explain` and tests; never on the answer path.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::layout::{Field, layout};
use crate::{Flags, Name, NameBuf, Question, Record, Reply, Rtype, Section};

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

fn present_data(rtype: Rtype, data: &[u8]) -> String {
    let mut words = Vec::new();
    match (rtype, data.len()) {
        (Rtype::A, 4) => return Ipv4Addr::new(data[0], data[1], data[2], data[3]).to_string(),
        (Rtype::AAAA, 16) => {
            let mut octets = [0; 16];
            octets.copy_from_slice(data);
            return Ipv6Addr::from(octets).to_string();
        }
        _ => {}
    }
    let mut at = 0;
    for field in layout(rtype) {
        let Some(rest) = data.get(at..) else { return generic(data) };
        match field {
            Field::Octets(n @ (1 | 2 | 4)) if rest.len() >= *n => {
                let number = rest[..*n].iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
                words.push(number.to_string());
                at += n;
            }
            Field::Text => match rest.split_first() {
                Some((&len, text)) if text.len() >= usize::from(len) => {
                    words.push(quoted(&text[..usize::from(len)]));
                    at += 1 + usize::from(len);
                }
                _ => return generic(data),
            },
            Field::Texts => {
                let mut rest = rest;
                while let Some((&len, text)) = rest.split_first() {
                    let Some((text, after)) = text.split_at_checked(usize::from(len)) else {
                        return generic(data);
                    };
                    words.push(quoted(text));
                    rest = after;
                }
                at = data.len();
            }
            Field::Name | Field::PlainName => {
                let mut name = NameBuf::root();
                let Ok(end) = name.read(data, at) else { return generic(data) };
                words.push(name.to_string());
                at = end;
            }
            _ => return generic(data),
        }
    }
    words.join(" ")
}

fn quoted(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03}");
            }
        }
    }
    out.push('"');
    out
}

/// RDATA of unknown types (RFC 3597).
fn generic(data: &[u8]) -> String {
    let mut out = format!("\\# {}", data.len());
    if !data.is_empty() {
        out.push(' ');
    }
    for byte in data {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_as_text() {
        for (rtype, data, text) in [
            (Rtype::A, &[10, 0, 0, 1][..], "10.0.0.1"),
            (Rtype::MX, b"\x00\x0a\x01a\x00", "10 a."),
            (Rtype::TXT, b"\x03a\"b\x01\x00", r#""a\"b" "\000""#),
            (Rtype::HINFO, b"\x01x\x01y", r#""x" "y""#),
            (Rtype(4711), &[1, 255], r"\# 2 01ff"),
            (Rtype::SRV, b"\x00\x00\x00\x64\x00\x50\x01a\x00", "0 100 80 a."),
        ] {
            assert_eq!(present_data(rtype, data), text);
        }
    }
}
