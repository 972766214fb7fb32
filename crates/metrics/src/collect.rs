//! Metrics that are looked up when somebody scrapes: the size of the process, or other metrics under old names.

use crate::gather::{Exposed, Gathered, Row, Value};
use crate::histogram::Snapshot;
use crate::text::{Kind, Labels};

/// Finds values out at scrape.
pub(crate) type Collector = Box<dyn Fn(&mut Collection) + Send + Sync>;

/// What collectors found, by name.
#[derive(Default)]
pub struct Collection {
    pub(crate) found: Gathered,
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

    /// A name and its series, in the order they are to be written. Without any the name is left out.
    pub fn family(&mut self, name: &'static str, help: &str, kind: Kind, fill: impl FnOnce(&mut Rows<'_>)) {
        let mut rows = Vec::new();
        fill(&mut Rows { rows: &mut rows });
        if !rows.is_empty() {
            self.found.insert(name, Exposed { help: help.to_owned(), kind, rows });
        }
    }
}

/// The series of one name in the making. Labels come sorted by name.
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
