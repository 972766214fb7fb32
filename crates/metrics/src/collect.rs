//! Metrics that are looked up when somebody scrapes: the size of the process, or other metrics under old names.

use std::collections::BTreeMap;

use crate::histogram::Snapshot;
use crate::text::{Kind, Labels, header, sample};

/// Finds values out at scrape.
pub(crate) type Collector = Box<dyn Fn(&mut Collection) + Send + Sync>;

/// What collectors found, by name.
#[derive(Default)]
pub struct Collection {
    pub(crate) texts: BTreeMap<&'static str, String>,
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
        let mut text = String::new();
        header(&mut text, name, help, kind);
        let samples = text.len();
        fill(&mut Rows { name, out: &mut text });
        if text.len() > samples {
            self.texts.insert(name, text);
        }
    }
}

/// The series of one name in the making. Labels come sorted by name.
pub struct Rows<'a> {
    name: &'static str,
    out: &'a mut String,
}

impl Rows<'_> {
    pub fn value(&mut self, labels: &Labels<'_>, value: f64) {
        sample(self.out, self.name, "", labels, None, value);
    }

    pub fn histogram(&mut self, labels: &Labels<'_>, snapshot: &Snapshot) {
        snapshot.write(self.out, self.name, labels);
    }
}
