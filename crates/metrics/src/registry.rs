//! All metrics by name, and their exposition.

use std::any::Any;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use crate::collect::{Collection, Collector};
use crate::family::Child;
use crate::gather::{Exposition, FamilySnapshot, Row};
use crate::text::{self, Kind, Metric};
use crate::{Counter, Family, Gauge, Histogram, protobuf};

static GLOBAL: Registry = Registry::new();

/// The registry of the process, exposed by the prometheus plugin.
pub fn registry() -> &'static Registry {
    &GLOBAL
}

/// Metrics and collectors by name. Tests have their own.
///
/// Registering is idempotent: a reload sets up every plugin again, and its counters must keep their values. The second
/// caller gets the metric of the first, provided that type, labels and buckets are the same.
#[derive(Default)]
pub struct Registry {
    entries: RwLock<BTreeMap<&'static str, Registration>>,
    collectors: RwLock<BTreeMap<&'static str, Collector>>,
}

struct Registration {
    help: &'static str,
    shape: Shape,
    source: Arc<dyn Source>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Shape {
    kind: Kind,
    labels: Option<&'static [&'static str]>,
    bounds: &'static [f64],
}

/// The name is taken by a metric of another shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    pub name: &'static str,
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "metric {} is already registered with another type, other labels or other buckets",
            self.name
        )
    }
}

impl std::error::Error for RegisterError {}

/// A metric or a family: provides the series of one name.
trait Source: Any + Send + Sync {
    fn rows(&self) -> Vec<Row>;
}

/// A metric without labels in a `static`.
struct StaticMetric<M: 'static> {
    metric: &'static M,
    created: SystemTime,
}

impl<M: Metric> Source for StaticMetric<M> {
    fn rows(&self) -> Vec<Row> {
        vec![Row::new(&[], self.metric.read(), Some(self.created))]
    }
}

impl<M: Metric> Source for Family<M> {
    fn rows(&self) -> Vec<Row> {
        // Go's client sorts labels by name, whatever their declared order, and series by the values in that order.
        let mut order: Vec<usize> = (0..self.labels().len()).collect();
        order.sort_by_key(|at| self.labels()[*at]);

        let row = |child: &Child<M>| {
            let value = |at: usize| child.values.get(at).map_or("", |value| &**value);
            let labels: Vec<(&str, &str)> = order.iter().map(|at| (self.labels()[*at], value(*at))).collect();
            Row::new(&labels, child.metric.read(), Some(child.created))
        };
        let mut rows: Vec<Row> = self.children().iter().map(row).collect();
        rows.sort_by(|a, b| a.labels.cmp(&b.labels));
        rows
    }
}

impl Registry {
    pub const fn new() -> Self {
        Registry { entries: RwLock::new(BTreeMap::new()), collectors: RwLock::new(BTreeMap::new()) }
    }

    pub fn register_counter(
        &self,
        name: &'static str,
        help: &'static str,
        counter: &'static Counter,
    ) -> Result<&'static Counter, RegisterError> {
        self.single(name, help, Kind::Counter, counter)
    }

    pub fn register_gauge(
        &self,
        name: &'static str,
        help: &'static str,
        gauge: &'static Gauge,
    ) -> Result<&'static Gauge, RegisterError> {
        self.single(name, help, Kind::Gauge, gauge)
    }

    /// A float exposed as a counter, for totals kept elsewhere: `process_cpu_seconds_total`.
    pub fn register_float_counter(
        &self,
        name: &'static str,
        help: &'static str,
        total: &'static Gauge,
    ) -> Result<&'static Gauge, RegisterError> {
        self.single(name, help, Kind::Counter, total)
    }

    pub fn register_histogram(
        &self,
        name: &'static str,
        help: &'static str,
        histogram: &'static Histogram,
    ) -> Result<&'static Histogram, RegisterError> {
        histogram.prepare();
        self.single(name, help, Kind::Histogram, histogram)
    }

    /// A family of counters with these labels.
    pub fn counters(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Result<Arc<Family<Counter>>, RegisterError> {
        self.family(name, help, labels, &[])
    }

    pub fn gauges(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Result<Arc<Family<Gauge>>, RegisterError> {
        self.family(name, help, labels, &[])
    }

    pub fn histograms(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        bounds: &'static [f64],
    ) -> Result<Arc<Family<Histogram>>, RegisterError> {
        self.family(name, help, labels, bounds)
    }

    /// The family with this name, if its type is `M`.
    pub fn find<M: Metric>(&self, name: &str) -> Option<Arc<Family<M>>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let source: Arc<dyn Any + Send + Sync> = entries.get(name)?.source.clone();
        source.downcast().ok()
    }

    /// Runs `collect` at every scrape. A collector replaces an earlier one with the same `key`, as at a reload.
    pub fn set_collector(
        &self,
        key: &'static str,
        collect: impl Fn(&mut Collection) + Send + Sync + 'static,
    ) {
        let mut collectors = self.collectors.write().unwrap_or_else(PoisonError::into_inner);
        collectors.insert(key, Box::new(collect));
    }

    pub fn remove_collector(&self, key: &str) {
        self.collectors.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// The exposition as `text/plain; version=0.0.4`, sorted by name, then by label values.
    pub fn encode(&self) -> String {
        text::encode(&self.gather())
    }

    /// The exposition as `application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily;
    /// encoding=delimited`: the same families, with native buckets.
    pub fn encode_protobuf(&self) -> Vec<u8> {
        protobuf::encode(&self.gather())
    }

    /// Families without series are omitted, as by Go's client. A registered family hides a collected one of its name.
    pub(crate) fn gather(&self) -> Exposition {
        // Before taking the other lock: collectors look up metrics.
        let mut families = self.collect().families;
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        for (name, registration) in entries.iter() {
            let rows = registration.source.rows();
            if !rows.is_empty() {
                let (help, kind) = (registration.help.to_owned(), registration.shape.kind);
                families.insert(name, FamilySnapshot { help, kind, rows });
            }
        }
        families
    }

    fn collect(&self) -> Collection {
        let mut collection = Collection::default();
        let collectors = self.collectors.read().unwrap_or_else(PoisonError::into_inner);
        collectors.values().for_each(|collect| collect(&mut collection));
        collection
    }

    fn single<M: Metric>(
        &self,
        name: &'static str,
        help: &'static str,
        kind: Kind,
        metric: &'static M,
    ) -> Result<&'static M, RegisterError> {
        let shape = Shape { kind, labels: None, bounds: metric.bounds() };
        let source = StaticMetric { metric, created: SystemTime::now() };
        Ok(self.register(name, help, shape, source)?.metric)
    }

    fn family<M: Metric>(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        bounds: &'static [f64],
    ) -> Result<Arc<Family<M>>, RegisterError> {
        let shape = Shape { kind: M::KIND, labels: Some(labels), bounds };
        self.register(name, help, shape, Family::<M>::empty(labels, bounds))
    }

    /// Registers `source`, or returns the registered one if it has the same shape.
    fn register<S: Source>(
        &self,
        name: &'static str,
        help: &'static str,
        shape: Shape,
        source: S,
    ) -> Result<Arc<S>, RegisterError> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        match entries.entry(name) {
            Entry::Vacant(entry) => {
                let source = Arc::new(source);
                entry.insert(Registration { help, shape, source: Arc::clone(&source) as Arc<dyn Source> });
                Ok(source)
            }
            Entry::Occupied(entry) if entry.get().shape == shape => {
                let existing: Arc<dyn Any + Send + Sync> = entry.get().source.clone();
                existing.downcast().map_err(|_| RegisterError { name })
            }
            Entry::Occupied(_) => Err(RegisterError { name }),
        }
    }
}

#[cfg(test)]
mod tests;
