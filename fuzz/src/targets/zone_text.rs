//! Zone text: any octets become records or errors with a position, in bounded time. What is written of a record is read
//! back to the same record. Single records, as in templates, are read or refused.

use wire::{NameBuf, present_data};
use zone::{Source, ZoneFile, ZoneRecord, write_zone};

/// `$INCLUDE` finds two files, of which one includes the other.
struct Files;

impl Source for Files {
    fn read(&mut self, path: &str, _from: &str) -> Result<(String, Vec<u8>), String> {
        match path {
            "a" => Ok(("a".into(), b"$TTL 5\nx A 192.0.2.1\n$INCLUDE b\n".to_vec())),
            "b" => Ok(("b".into(), b"y A 192.0.2.2\n$INCLUDE a".to_vec())),
            _ => Err("no such file".into()),
        }
    }
}

pub fn check(input: &[u8]) {
    if let Err(error) = ZoneRecord::parse(input) {
        assert!(error.to_string().starts_with("dns: "), "{error}");
    }
    let generates = input.windows(9).filter(|word| word.eq_ignore_ascii_case(b"$GENERATE")).count();
    // Each may have 65536 lines, and an input many of them.
    if generates > 2 {
        return;
    }
    let Ok(origin) = NameBuf::parse("example.org") else { return };
    let file = ZoneFile { name: "zone", text: input, origin: &origin };
    let lines = input.split(|byte| *byte == b'\n').count();
    let read = file.read(&mut Files, &mut |record, position| {
        assert!(position.file != "zone" || (1..=lines).contains(&position.line), "{position:?}");
        check_record(record);
        Ok(())
    });
    for error in read.err().unwrap_or_default() {
        assert!(error.line > 0 && error.column > 0 && !error.message.is_empty(), "{error:?}");
    }
    if let Ok(contents) = file.load(&mut Files) {
        file.warnings(&contents, &mut Files);
        let mut text = String::new();
        let _ = write_zone(&contents, &mut text);
        let again = ZoneFile { name: "again", text: text.as_bytes(), origin: &origin }.load(&mut Files);
        let mut rewritten = String::new();
        let again = again.unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        let _ = write_zone(&again, &mut rewritten);
        assert_eq!(rewritten, text);
    }
}

/// The record's text is read back to its RDATA.
fn check_record(record: &zone::Record<'_>) {
    let text = present_data(record.rtype, record.data);
    let line = format!("x 5 {} {text}", record.rtype.zone_name());
    let origin = NameBuf::root();
    let mut found = None;
    let read = ZoneFile { name: "line", text: line.as_bytes(), origin: &origin }.read(
        &mut Files,
        &mut |again, _| {
            found = Some(again.data.to_vec());
            Ok(())
        },
    );
    assert!(read.is_ok(), "{line}: {read:?}");
    assert_eq!(found.as_deref(), Some(record.data), "{line}");
}
