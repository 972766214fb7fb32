//! The protobuf exposition: length-delimited messages of `io.prometheus.client`. Only this format has native buckets,
//! and scrapers request it because of them.
//!
//! The messages have only the fields in use. Fields that Go's client writes are written here too, zeros and empty
//! strings included.

use std::time::{SystemTime, UNIX_EPOCH};

use prost::Message;

use crate::gather::{Exposition, FamilySnapshot, Row, Value};
use crate::histogram::Snapshot;
use crate::native::{NativeSnapshot, SCHEMA, ZERO_THRESHOLD};
use crate::text::Kind;

/// Gaps up to this length are encoded as empty buckets, which is shorter than a new span.
const SHORT_GAP: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub help: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    pub metric: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Metric {
    #[prost(message, repeated, tag = "1")]
    pub label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    pub gauge: Option<Gauge>,
    #[prost(message, optional, tag = "3")]
    pub counter: Option<Counter>,
    #[prost(message, optional, tag = "7")]
    pub histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LabelPair {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Gauge {
    #[prost(double, optional, tag = "1")]
    pub value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Counter {
    #[prost(double, optional, tag = "1")]
    pub value: Option<f64>,
    #[prost(message, optional, tag = "3")]
    pub created: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    pub count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    pub sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    pub bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    pub schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    pub zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    pub zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    pub positive_span: Vec<Span>,
    #[prost(sint64, repeated, packed = "false", tag = "13")]
    pub positive_delta: Vec<i64>,
    #[prost(message, optional, tag = "15")]
    pub created: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    pub cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    pub upper_bound: Option<f64>,
}

/// A run of buckets: its distance from the end of the previous one, and its length.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Span {
    #[prost(sint32, optional, tag = "1")]
    pub offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    pub length: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

pub(crate) fn encode(families: &Exposition) -> Vec<u8> {
    families
        .iter()
        .flat_map(|(name, family)| MetricFamily::of(name, family).encode_length_delimited_to_vec())
        .collect()
}

impl MetricFamily {
    fn of(name: &str, family: &FamilySnapshot) -> MetricFamily {
        let kind = match family.kind {
            Kind::Counter => 0,
            Kind::Gauge => 1,
            Kind::Histogram => 4,
        };
        MetricFamily {
            name: Some(name.to_owned()),
            help: Some(family.help.clone()),
            kind: Some(kind),
            metric: family.rows.iter().map(|row| Metric::of(family.kind, row)).collect(),
        }
    }
}

impl Metric {
    fn of(kind: Kind, row: &Row) -> Metric {
        let text = |text: &str| Some(text.to_owned());
        let label = row.labels.iter().map(|(name, value)| LabelPair { name: text(name), value: text(value) });
        let mut metric = Metric { label: label.collect(), ..Metric::default() };
        let created = row.created.and_then(timestamp);
        match (&row.value, kind) {
            (Value::Histogram(snapshot), _) => metric.histogram = Some(Histogram::of(snapshot, created)),
            (Value::Number(value), Kind::Counter) => {
                metric.counter = Some(Counter { value: Some(*value), created });
            }
            (Value::Number(value), _) => metric.gauge = Some(Gauge { value: Some(*value) }),
        }
        metric
    }
}

impl Histogram {
    fn of(snapshot: &Snapshot, created: Option<Timestamp>) -> Histogram {
        let (positive_span, positive_delta) = spans(&snapshot.native);
        let bucket = |(bound, count): &(f64, u64)| Bucket {
            cumulative_count: Some(*count),
            upper_bound: Some(*bound),
        };
        Histogram {
            // Prometheus rejects native buckets that sum up to another count. The classic buckets may lag behind; the
            // difference counts as values above their last bound.
            count: Some(snapshot.native.count()),
            sum: Some(snapshot.sum),
            bucket: snapshot.buckets.iter().map(bucket).collect(),
            schema: Some(SCHEMA),
            zero_threshold: Some(ZERO_THRESHOLD),
            zero_count: Some(snapshot.native.zero),
            positive_span,
            positive_delta,
            created,
        }
    }
}

/// Spans of buckets, and the counts as differences to the previous bucket.
fn spans(native: &NativeSnapshot) -> (Vec<Span>, Vec<i64>) {
    let (mut spans, mut deltas) = (Vec::<Span>::new(), Vec::new());
    let (mut next, mut before) = (0, 0);
    for (key, count) in &native.buckets {
        let gap = key - next;
        let empty = match spans.last_mut() {
            Some(span) if gap <= SHORT_GAP => {
                span.length = span.length.map(|length| length + gap.unsigned_abs() + 1);
                gap
            }
            _ => {
                spans.push(Span { offset: Some(gap), length: Some(1) });
                0
            }
        };
        for count in (0..empty).map(|_| 0).chain([*count as i64]) {
            deltas.push(count - before);
            before = count;
        }
        next = key + 1;
    }
    (spans, deltas)
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp { seconds: since.as_secs() as i64, nanos: since.subsec_nanos() as i32 })
}

#[cfg(test)]
mod tests;
