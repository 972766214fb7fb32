//! Metrics computed at scrape: the size of the process, or other metrics under deprecated names.

use crate::gather::{Exposition, FamilySnapshot, Row, Value};
use crate::histogram::Snapshot;
use crate::text::{Kind, Labels};

/// Adds families to the collection at scrape.
pub(crate) type Collector = Box<dyn Fn(&mut Collection) + Send + Sync>;

/// The families of all collectors.
#[derive(Default)]
pub struct Collection {
    pub(crate) families: Exposition,
}

impl Collection {
    /// A gauge without labels.
    pub fn gauge(&mut self, name: &'static str, help: &str, value: f64) {
        self.family(name, help, Kind::Gauge, |rows| rows.value(&[], value));
    }

    /// A counter without labels.
    pub fn counter(&mut self, name: &'static str, help: &str, value: f64) {
        self.family(name, help, Kind::Counter, |rows| rows.value(&[], value));
    }

    /// A family and its series, in the order of the exposition. A family without series is omitted.
    pub fn family(&mut self, name: &'static str, help: &str, kind: Kind, fill: impl FnOnce(&mut Rows<'_>)) {
        let mut rows = Vec::new();
        fill(&mut Rows { rows: &mut rows });
        if !rows.is_empty() {
            self.families.insert(name, FamilySnapshot { help: help.to_owned(), kind, rows });
        }
    }
}

/// Adds series to a family. Labels must be sorted by name.
pub struct Rows<'a> {
    rows: &'a mut Vec<Row>,
}

impl Rows<'_> {
    pub fn value(&mut self, labels: &Labels<'_>, value: f64) {
        self.rows.push(Row::new(labels, Value::Number(value), None));
    }

    pub fn histogram(&mut self, labels: &Labels<'_>, snapshot: &Snapshot) {
        self.rows.push(Row::new(labels, Value::Histogram(snapshot.clone()), None));
    }
}
