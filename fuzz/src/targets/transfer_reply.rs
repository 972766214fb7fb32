//! Messages of a zone transfer, each after its length: records are in the zone and survive being written again, an
//! outcome comes with a SOA at the end, and a signature is removed or there is none.

use upstream::transfer::{Change, Outcome, Reader, TransferLimits};
use upstream::tsig::Signature;
use wire::message::{self, Header, Record, Writer};
use wire::{Flags, NameBuf, Opcode, Rcode, Section};

/// The first octet chooses AXFR, or IXFR from this serial.
pub fn check(input: &[u8]) {
    let (Some((serial, mut rest)), Ok(zone)) = (input.split_first(), NameBuf::parse("example.")) else {
        return;
    };
    let serial = (*serial > 0).then_some(u32::from(*serial));
    let limits = TransferLimits { octets: 1 << 20, records: 1 << 16, ..TransferLimits::default() };
    let mut reader = Reader::new(7, zone.as_name(), serial, &limits);
    let mut changes = 0;
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
        let (message, after) = after.split_at(length);
        rest = after;
        let _ = Signature::remove(&mut message.to_vec());
        let outcome = reader.message(message, &mut |change| {
            changes += 1;
            if let Change::Add(record) | Change::Delete(record) = change {
                assert!(record.owner.is_under(zone.as_name()), "{record:?} is outside the zone");
                check_written(&record);
            }
            Ok(())
        });
        match outcome {
            Ok(None) => {}
            Ok(Some(Outcome::UpToDate { .. })) => return assert_eq!(changes, 0),
            Ok(Some(_)) => return assert!(changes > 1),
            Err(_) => return,
        }
    }
}

fn check_written(record: &Record<'_>) {
    let header = Header { id: 0, opcode: Opcode::QUERY, flags: Flags::QR, rcode: Rcode::NOERROR };
    let mut writer = Writer::new(header);
    writer.record(Section::Answer, record);
    // Decompressed it may be longer than a message.
    let Some(written) = writer.finish() else { return };
    let mut reader = message::Reader::new(&written).expect("it has a header");
    assert_eq!(reader.record(), Ok(Some((Section::Answer, *record))), "written again");
}
