use wire::message::{Header, Writer};
use wire::{Flags, NameBuf, Rcode};

use super::*;

const ID: u16 = 7;

fn name(text: &str) -> NameBuf {
    NameBuf::parse(text).expect("a name")
}

/// A message of records such as `3`, the SOA with this serial, and `www`, an address.
fn message(records: &str, qtype: Rtype, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let zone = name("example.");
    let header = Header { id: ID, opcode: Opcode::QUERY, flags: Flags::QR, rcode: Rcode::NOERROR };
    let mut writer = Writer::new(header);
    writer.question(zone.as_name(), qtype, Class::IN);
    for word in records.split_whitespace() {
        let (owner, rtype, data) = match word.parse::<u32>() {
            Ok(serial) => (zone.clone(), Rtype::SOA, [&[0, 0][..], &serial.to_be_bytes(), &[0; 16]].concat()),
            Err(_) if word.ends_with('.') => (name(word), Rtype::A, vec![192, 0, 2, 1]),
            Err(_) => (name(&format!("{word}.example.")), Rtype::A, vec![192, 0, 2, 1]),
        };
        let record = Record { owner: owner.as_name(), rtype, class: Class::IN, ttl: 60, data: &data };
        writer.record(Section::Answer, &record);
    }
    let mut message = writer.finish().expect("a short message");
    change(&mut message);
    message
}

/// Changes and outcome of messages separated by `|`.
fn read(serial: Option<u32>, messages: &str, limits: &TransferLimits) -> String {
    let mut reader = Reader::new(ID, name("example.").as_name(), serial, limits);
    let qtype = if serial.is_some() { Rtype::IXFR } else { Rtype::AXFR };
    let mut seen = String::new();
    let mut sink = |change: Change<'_>| {
        let (sign, record) = match change {
            Change::Replace => {
                seen.push_str("= ");
                return Ok(());
            }
            Change::Add(record) => ('+', record),
            Change::Delete(record) => ('-', record),
        };
        let label = record.owner.labels().next().unwrap_or_default();
        let text = match record.serial() {
            Some(serial) => serial.to_string(),
            None => String::from_utf8_lossy(label).into_owned(),
        };
        seen.push_str(&format!("{sign}{text} "));
        Ok(())
    };
    for records in messages.split('|') {
        match reader.message(&message(records, qtype, |_| {}), &mut sink) {
            Ok(None) => {}
            Ok(Some(outcome)) => return format!("{seen}{outcome:?}"),
            Err(error) => return format!("{seen}{error}"),
        }
    }
    format!("{seen}…")
}

#[test]
fn rfc5936_and_rfc1995_order_of_records() {
    let cases = [
        (None, "3 a b 3", "= +3 +a +b Replaced { serial: 3 }"),
        (None, "3 a | b | 3", "= +3 +a +b Replaced { serial: 3 }"),
        (None, "3 3", "= +3 Replaced { serial: 3 }"),
        (None, "3 a b", "= +3 +a +b …"),
        (None, "a 3", "invalid reply: it does not begin with a SOA"),
        (None, "3 a | 4 b 4", "= +3 +a invalid reply: the closing SOA has another serial"),
        (None, "3 a | 3 b 3", "= +3 +a invalid reply: records follow the closing SOA"),
        (None, "3 a other. 3", "= +3 +a invalid reply: a record is outside the zone"),
        (None, "3 a ||", "= +3 +a invalid reply: a message has no records"),
        (Some(3), "3", "UpToDate { serial: 3 }"),
        (Some(3), "2", "UpToDate { serial: 2 }"),
        (Some(3), "4", "…"),
        (Some(3), "4 3 a 4 b 4", "-3 -a +4 +b Updated { from: 3, to: 4 }"),
        (Some(3), "4 | 3 | a | 4 | b | 4", "-3 -a +4 +b Updated { from: 3, to: 4 }"),
        (Some(3), "9 3 a 5 b 5 b 9 a 9", "-3 -a +5 +b -5 -b +9 +a Updated { from: 3, to: 9 }"),
        (Some(3), "4 3 4 4", "-3 +4 Updated { from: 3, to: 4 }"),
        (Some(3), "4 a b 4", "= +4 +a +b Replaced { serial: 4 }"),
        (Some(3), "4 4", "= +4 Replaced { serial: 4 }"),
        (Some(3), "4 2 a 4 4", "invalid reply: the differences begin at another serial"),
        (Some(3), "9 3 a 5 b 6 9", "-3 -a +5 +b invalid reply: the differences do not connect"),
        (Some(3), "9 3 a 2 b 9", "-3 -a invalid reply: the serials of the differences do not rise"),
        (Some(3), "4 3 a 4 b 4 c", "-3 -a +4 +b invalid reply: records follow the closing SOA"),
    ];
    for (serial, messages, expected) in cases {
        assert_eq!(read(serial, messages, &TransferLimits::default()), expected, "{serial:?} {messages}");
    }
}

#[test]
fn limits_of_octets_and_records() {
    let all = TransferLimits::default();
    assert_eq!(
        read(None, "3 a b 3", &TransferLimits { records: 2, ..all }),
        "= +3 +a the transfer exceeds its limit of records"
    );
    assert_eq!(
        read(None, "3 a | b 3", &TransferLimits { octets: 100, ..all }),
        "= +3 +a the transfer exceeds its limit of octets"
    );
}

#[test]
fn replies_to_other_requests_and_errors() {
    type Alter = fn(&mut Vec<u8>);
    let cases: [(&str, Alter, RequestError); 6] = [
        ("another id", |m| m[1] = 8, RequestError::Invalid("it is not a reply to this request")),
        ("a query", |m| m[2] &= 0x7F, RequestError::Invalid("it is not a reply to this request")),
        ("truncated", |m| m[2] |= 2, RequestError::Invalid("it is truncated")),
        ("another zone", |m| m[13] = b'x', RequestError::Invalid("it has another question")),
        ("refused", |m| m[3] |= 5, RequestError::Rcode(Rcode::REFUSED)),
        ("cut", |m| m.truncate(50), RequestError::Invalid("malformed record")),
    ];
    for (what, alter, expected) in cases {
        let limits = TransferLimits::default();
        let mut reader = Reader::new(ID, name("example.").as_name(), None, &limits);
        let message = message("3 a 3", Rtype::AXFR, alter);
        assert_eq!(reader.message(&message, &mut |_| Ok(())), Err(expected), "{what}");
    }
}
