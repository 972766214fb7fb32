//! All metrics at one moment, before they are written in any format.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::histogram::Snapshot;
use crate::text::{Kind, Labels};

/// Families by name, which is the order they are written in.
pub(crate) type Gathered = BTreeMap<&'static str, Exposed>;

/// One name and its series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exposed {
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
    /// When it began to count. Values that are kept elsewhere and only looked up have none.
    pub created: Option<SystemTime>,
}

/// What a metric shows.
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
