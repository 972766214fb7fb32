//! The golden bytes were written by Go's client_golang 1.24 for the same metrics, without creation times.

use std::fmt::Write;
use std::time::Duration;

use super::*;
use crate::{Registry, buckets};

const GOLDEN: &str = "\
    220a07656e74726965731208456e74726965732e1801220b120909000000000000f8bf490a0e72657175657374735f74\
    6f74616c120941202268656c70222e1800222a0a130a067365727665721209646e733a2f2f3a35330a080a0476696577\
    12001a09090000000000000840ce010a0b73697a65735f6279746573120653697a65732e1804224d0a0c0a0570726f74\
    6f12037463700a090a047a6f6e6512012e3a3208001100000000000000001a0b08001100000000000000001a0b080011\
    0000000000005940280831000000000000f037380022660a0c0a0570726f746f12037564700a090a047a6f6e6512012e\
    3a4b0807110000000000bc92401a0b08011100000000000000001a0b0805110000000000005940280831000000000000\
    f0373801620508ac0110046204086c10026802680068016804680168001d0a0a7a65726f5f746f74616c12001800220b\
    1a09090000000000000000";

fn decode(mut bytes: &[u8]) -> Vec<MetricFamily> {
    let mut families = Vec::new();
    while !bytes.is_empty() {
        families.push(MetricFamily::decode_length_delimited(&mut bytes).unwrap());
    }
    families
}

#[test]
fn exposition_is_that_of_gos_client() {
    static ENTRIES: crate::Gauge = crate::Gauge::new();
    static ZERO: crate::Counter = crate::Counter::new();
    let r = Registry::new();
    let sizes = r.histograms("sizes_bytes", "Sizes.", &["zone", "proto"], &[0.0, 100.0]).unwrap();
    for value in [0.0, 40.0, 42.0, 46.0, 46.0, 512.0, 513.0] {
        sizes.with(&[".", "udp"]).observe(value);
    }
    sizes.with(&[".", "tcp"]);
    let requests = r.counters("requests_total", "A \"help\".", &["view", "server"]).unwrap();
    requests.with(&["", "dns://:53"]).add(3);
    r.register_gauge("entries", "Entries.", &ENTRIES).unwrap();
    ENTRIES.set(-1.5);
    r.register_counter("zero_total", "", &ZERO).unwrap();

    let mut families = r.gather();
    families.values_mut().flat_map(|family| &mut family.rows).for_each(|row| row.created = None);
    let mut hex = String::new();
    encode(&families).iter().for_each(|byte| write!(hex, "{byte:02x}").unwrap());
    assert_eq!(hex, GOLDEN);
}

#[test]
fn registered_counters_and_histograms_have_a_creation_time() {
    static COUNTER: crate::Counter = crate::Counter::new();
    static GAUGE: crate::Gauge = crate::Gauge::new();
    let r = Registry::new();
    let before = SystemTime::now();
    r.register_counter("a_total", "", &COUNTER).unwrap();
    r.register_gauge("b", "", &GAUGE).unwrap();
    r.histograms("c", "", &["x"], buckets::TIME).unwrap().with(&["y"]);
    r.set_collector("test", |found| found.counter("d_total", "", 1.0));
    let after = SystemTime::now();

    let families = decode(&r.encode_protobuf());
    let times = families.iter().map(|family| {
        let metric = &family.metric[0];
        let counter = metric.counter.as_ref().and_then(|counter| counter.created.clone());
        counter.or_else(|| metric.histogram.as_ref().and_then(|histogram| histogram.created.clone()))
    });
    let times: Vec<Option<SystemTime>> = times
        .map(|time| time.map(|t| UNIX_EPOCH + Duration::new(t.seconds as u64, t.nanos as u32)))
        .collect();
    let within = |time: &Option<SystemTime>| time.is_some_and(|time| before <= time && time <= after);
    assert_eq!(times.iter().map(within).collect::<Vec<bool>>(), [true, false, true, false], "{times:?}");
}

#[test]
fn spans_and_deltas() {
    /// Buckets, spans by offset and length, deltas.
    type Case = (&'static [(i32, u64)], &'static [(i32, u32)], &'static [i64]);
    let table: &[Case] = &[
        (&[], &[], &[]),
        (&[(-5, 2)], &[(-5, 1)], &[2]),
        (&[(0, 1), (1, 4), (2, 3)], &[(0, 3)], &[1, 3, -1]),
        // Gaps of one and two are filled, a gap of three is not.
        (&[(3, 2), (5, 2), (8, 1)], &[(3, 6)], &[2, -2, 2, -2, 0, 1]),
        (&[(3, 2), (7, 5)], &[(3, 1), (3, 1)], &[2, 3]),
    ];
    for (buckets, expected, deltas) in table {
        let (runs, got) = spans(&NativeSnapshot { zero: 0, buckets: buckets.to_vec() });
        let runs: Vec<(i32, u32)> = runs.iter().map(|run| (run.offset(), run.length())).collect();
        assert_eq!((&*runs, &*got), (*expected, *deltas), "{buckets:?}");
    }
}
