//! A snapshot of all metrics, before it is encoded as text or protobuf.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::histogram::Snapshot;
use crate::text::{Kind, Labels};

/// Families by name, which is the order of the exposition.
pub(crate) type Exposition = BTreeMap<&'static str, FamilySnapshot>;

/// One family and its series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FamilySnapshot {
    pub help: String,
    pub kind: Kind,
    pub rows: Vec<Row>,
}

/// One series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// Sorted by name.
    pub labels: Vec<(Box<str>, Box<str>)>,
    pub value: Value,
    /// Creation time; None for values of collectors.
    pub created: Option<SystemTime>,
}

/// The value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(f64),
    Histogram(Snapshot),
}

impl Row {
    pub fn new(labels: &Labels<'_>, value: Value, created: Option<SystemTime>) -> Row {
        let labels = labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Row { labels, value, created }
    }
}
