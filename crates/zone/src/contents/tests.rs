//! Building and changing contents: any series of changes equals a zone built from scratch.

use std::collections::BTreeSet;

use proptest::prelude::*;
use wire::{Class, NameBuf, Rtype};

use crate::{Builder, Contents, Difference, History, Record, ZoneRecord};

fn record(text: &str) -> ZoneRecord {
    ZoneRecord::parse(text.as_bytes()).unwrap().unwrap()
}

fn borrowed(record: &ZoneRecord) -> Record<'_> {
    let data = record.data.as_deref().unwrap();
    Record { owner: record.owner.as_name(), rtype: record.rtype, class: record.class, ttl: record.ttl, data }
}

fn soa(serial: u32) -> String {
    format!("example. 300 IN SOA ns.example. h.example. {serial} 1 2 3 60")
}

fn build<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Contents, String> {
    let mut builder = Builder::new(NameBuf::parse("example").unwrap().as_name(), Class::IN);
    for text in texts {
        builder.add(&borrowed(&record(text))).map_err(|refusal| refusal.to_string())?;
    }
    builder.finish().map_err(|refusal| refusal.to_string())
}

/// All records as text, in order.
fn listed(contents: &Contents) -> Vec<String> {
    let mut all = Vec::new();
    contents.for_each(|record| {
        all.push(format!("{} {} {} {:?}", record.owner, record.ttl, record.rtype, record.data))
    });
    all
}

#[test]
fn refused_zones() {
    let soa = soa(1);
    for (texts, refusal) in [
        (vec!["a.example. A 10.0.0.1"], "zone example. has no SOA record"),
        (vec![&soa, "a.example.org. A 10.0.0.1"], "a.example.org. is not in zone example."),
        (vec![&soa, "a.example. CH A 10.0.0.1"], "a.example.: class CH is not the zone's"),
        (
            vec![&soa, "a.example. CNAME b.example.", "a.example. A 10.0.0.1"],
            "a.example.: CNAME and A at the same name",
        ),
        (
            vec![&soa, "a.example. CNAME b.example.", "a.example. CNAME c.example."],
            "a.example.: more than one CNAME record",
        ),
        (vec![&soa, "a.example. SOA a. b. 1 1 1 1 1"], "a.example.: SOA below the zone's apex"),
        (vec![&soa, "example. SOA a. b. 1 1 1 1 1"], "example.: more than one SOA record"),
        (vec![&soa, "a.example. TYPE250 \\# 0"], "a.example.: type TSIG cannot be in a zone"),
    ] {
        assert_eq!(build(texts.iter().copied()).map(|_| ()).unwrap_err(), refusal, "{texts:?}");
    }
}

#[test]
fn a_refused_change_leaves_the_zone_as_it_was() {
    let (old, new) = (soa(1), soa(2));
    let contents = build([&old[..], "a.example. A 10.0.0.1"]).unwrap();
    let before = listed(&contents);
    let mut editor = contents.edit();
    editor.add(&borrowed(&record(&new))).unwrap();
    editor.add(&borrowed(&record("a.example. CNAME b.example."))).unwrap();
    assert_eq!(editor.finish().unwrap_err().to_string(), "a.example.: CNAME and A at the same name");
    assert_eq!(listed(&contents), before);
    let mut editor = contents.edit();
    assert!(editor.remove(&borrowed(&record(&old))));
    assert_eq!(editor.finish().unwrap_err().to_string(), "zone example. has no SOA record");
}

#[test]
fn rfc2181_5_2_one_ttl_per_set() {
    let (old, new) = (soa(1), soa(2));
    let contents = build([&old[..], "a.example. 60 A 10.0.0.1", "a.example. 90 A 10.0.0.2"]).unwrap();
    assert_eq!(
        contents.sets(NameBuf::parse("A.example").unwrap().as_name()).unwrap().get(Rtype::A).unwrap().ttl,
        60
    );
    let mut editor = contents.edit();
    assert!(editor.add(&borrowed(&record(&new))).unwrap());
    assert!(editor.add(&borrowed(&record("a.example. 30 A 10.0.0.3"))).unwrap());
    assert!(!editor.add(&borrowed(&record("a.example. 30 A 10.0.0.3"))).unwrap());
    let (_, difference) = editor.finish().unwrap();
    // Records with another TTL are other records to a secondary.
    assert_eq!((difference.removed.len(), difference.added.len()), (1 + 2, 1 + 3));
    assert_eq!((difference.from, difference.to), (1, 2));
}

#[test]
fn history_is_bounded_and_without_gaps() {
    let mut contents = build([&soa(1)[..], "a.example. A 10.0.0.1"]).unwrap();
    let mut history = History::default();
    for serial in 2..20_000u32 {
        let mut editor = contents.edit();
        editor.add(&borrowed(&record(&soa(serial)))).unwrap();
        let (next, difference) = editor.finish().unwrap();
        history = history.with(difference, next.octets());
        contents = next;
    }
    assert!(history.since(1).is_none());
    let known = history.since(19_000).unwrap();
    assert_eq!((known.len(), known[0].from, known.last().unwrap().to), (999, 19_000, 19_999));
    assert!(known.windows(2).all(|pair| pair[0].to == pair[1].from));
    assert!(history.since(19_999).is_none() && history.since(77_777).is_none());
    let elsewhere = Difference { from: 5, to: 6, removed: Default::default(), added: Default::default() };
    assert!(history.with(elsewhere, 0).since(19_000).is_none());
}

/// Records of few owners and types, so that changes meet.
fn some_record() -> impl Strategy<Value = String> {
    let owner = prop_oneof![
        Just("example."),
        Just("a.example."),
        Just("b.a.example."),
        Just("*.example."),
        Just("x.y.example.")
    ];
    let data = prop_oneof![
        (0u8..4).prop_map(|n| format!("A 10.0.0.{n}")),
        (0u8..3).prop_map(|n| format!("NS ns{n}.example.")),
        (0u8..3).prop_map(|n| format!("TXT t{n}")),
        (0u8..2).prop_map(|n| format!("DNAME d{n}.example.")),
    ];
    (owner, 1u32..3, data).prop_map(|(owner, ttl, data)| format!("{owner} {ttl} {data}"))
}

proptest! {
    #[test]
    fn changes_equal_a_zone_built_from_scratch(
        start in proptest::collection::vec(some_record(), 0..20),
        changes in proptest::collection::vec((any::<bool>(), some_record()), 0..30),
    ) {
        let (first, second) = (soa(1), soa(2));
        let Ok(before) = build(start.iter().map(String::as_str).chain([&first[..]])) else { return Ok(()) };
        let mut editor = before.edit();
        editor.add(&borrowed(&record(&second))).unwrap();
        for (adds, text) in &changes {
            let record = record(text);
            if *adds { editor.add(&borrowed(&record)).unwrap(); } else { editor.remove(&borrowed(&record)); }
        }
        let Ok((after, difference)) = editor.finish() else { return Ok(()) };
        let mut all = Vec::new();
        after.for_each(|record| {
            let (owner, data) = (record.owner.to_buf(), Some(record.data.to_vec()));
            all.push(ZoneRecord { owner, rtype: record.rtype, class: record.class, ttl: record.ttl, data });
        });
        let mut builder = Builder::new(after.origin(), Class::IN);
        for record in all.iter().rev() {
            builder.add(&borrowed(record)).unwrap();
        }
        let scratch = builder.finish().unwrap();
        prop_assert_eq!(listed(&scratch), listed(&after));
        prop_assert_eq!((scratch.cuts, scratch.len(), scratch.owners()), (after.cuts, after.len(), after.owners()));
        prop_assert_eq!(&Difference::between(&before, &after), &difference);

        // The difference leads from one to the other, and nothing is in it twice.
        let mut editor = before.edit();
        for record in difference.removed.iter().filter(|record| record.rtype != Rtype::SOA) {
            prop_assert!(editor.remove(&record));
        }
        for record in difference.added.iter() {
            prop_assert!(editor.add(&record).unwrap());
        }
        prop_assert_eq!(listed(editor.contents()), listed(&after));
        let both: Vec<String> = difference.removed.iter().chain(difference.added.iter()).map(|r| format!("{r:?}")).collect();
        prop_assert_eq!(both.iter().collect::<BTreeSet<_>>().len(), both.len());
    }
}
