//! All metrics by name, and their exposition.

use std::any::Any;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use crate::collect::{Collection, Collector};
use crate::family::Child;
use crate::gather::{Exposed, Gathered, Row};
use crate::text::{self, Kind, Metric};
use crate::{Counter, Family, Gauge, Histogram, protobuf};

static GLOBAL: Registry = Registry::new();

/// The registry of the process, which `prometheus` serves.
pub fn registry() -> &'static Registry {
    &GLOBAL
}

/// Names, and what is written under them. Tests make their own.
///
/// Registering is idempotent: a reload sets every plugin up again, and its counters must go on counting. The
/// second caller gets what the first one registered, provided that type, labels and buckets are the same.
#[derive(Default)]
pub struct Registry {
    entries: RwLock<BTreeMap<&'static str, Registered>>,
    collectors: RwLock<BTreeMap<&'static str, Collector>>,
}

struct Registered {
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

/// Anything that has the series of one name.
trait Source: Any + Send + Sync {
    fn rows(&self) -> Vec<Row>;
}

/// A metric without labels that lives in a `static`.
struct Single<M: 'static> {
    metric: &'static M,
    registered: SystemTime,
}

impl<M: Metric> Source for Single<M> {
    fn rows(&self) -> Vec<Row> {
        vec![Row::new(&[], self.metric.read(), Some(self.registered))]
    }
}

impl<M: Metric> Source for Family<M> {
    fn rows(&self) -> Vec<Row> {
        // Go's client sorts labels by name, whatever order they were declared in, and series by the values in
        // that order.
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

    /// A float shown as a counter, for totals kept elsewhere: `process_cpu_seconds_total`.
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

    /// Counters told apart by `labels`; the registry keeps them.
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

    /// The family under this name, if there is one of this kind.
    pub fn find<M: Metric>(&self, name: &str) -> Option<Arc<Family<M>>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let source: Arc<dyn Any + Send + Sync> = entries.get(name)?.source.clone();
        source.downcast().ok()
    }

    /// Has `collect` asked at every scrape. `key` stands for the collector, so that a reload replaces it.
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

    /// The exposition as `text/plain; version=0.0.4`: sorted by name, then by label values.
    pub fn encode(&self) -> String {
        text::encode(&self.gather())
    }

    /// The exposition as `application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily;
    /// encoding=delimited`: the same, and native buckets.
    pub fn encode_protobuf(&self) -> Vec<u8> {
        protobuf::encode(&self.gather())
    }

    /// A family without any series is left out, as Go's client does. What is registered hides what is collected under
    /// its name.
    pub(crate) fn gather(&self) -> Gathered {
        // Before the other lock is taken: collectors look metrics up.
        let mut families = self.collect().found;
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        for (name, registered) in entries.iter() {
            let rows = registered.source.rows();
            if !rows.is_empty() {
                let (help, kind) = (registered.help.to_owned(), registered.shape.kind);
                families.insert(name, Exposed { help, kind, rows });
            }
        }
        families
    }

    fn collect(&self) -> Collection {
        let mut found = Collection::default();
        let collectors = self.collectors.read().unwrap_or_else(PoisonError::into_inner);
        collectors.values().for_each(|collect| collect(&mut found));
        found
    }

    fn single<M: Metric>(
        &self,
        name: &'static str,
        help: &'static str,
        kind: Kind,
        metric: &'static M,
    ) -> Result<&'static M, RegisterError> {
        let shape = Shape { kind, labels: None, bounds: metric.bounds() };
        let made = Single { metric, registered: SystemTime::now() };
        Ok(self.register(name, help, shape, made)?.metric)
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

    /// `made` under this name, or what is there already if it has the same shape.
    fn register<S: Source>(
        &self,
        name: &'static str,
        help: &'static str,
        shape: Shape,
        made: S,
    ) -> Result<Arc<S>, RegisterError> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        match entries.entry(name) {
            Entry::Vacant(entry) => {
                let source = Arc::new(made);
                entry.insert(Registered { help, shape, source: Arc::clone(&source) as Arc<dyn Source> });
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
