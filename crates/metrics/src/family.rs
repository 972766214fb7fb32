//! A metric family: the metrics with one name, one for each combination of label values.

use std::cmp::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use crate::text::Metric;
use crate::{Counter, Gauge, Histogram};

/// Label values, in the order of the label names, and the metric they select.
pub type Series<M> = (Box<[Box<str>]>, Arc<M>);

/// A series and its creation time.
#[derive(Debug)]
pub(crate) struct Child<M> {
    pub values: Box<[Box<str>]>,
    pub metric: Arc<M>,
    pub created: SystemTime,
}

// Not derived: a derive would require `M: Clone`.
impl<M> Clone for Child<M> {
    fn clone(&self) -> Self {
        Child { values: self.values.clone(), metric: Arc::clone(&self.metric), created: self.created }
    }
}

/// A metric per combination of label values. Lookups take a lock: do them at setup and keep the `Arc`.
#[derive(Debug)]
pub struct Family<M> {
    labels: &'static [&'static str],
    bounds: &'static [f64],
    /// Sorted by values; not a map, because owned keys cannot be looked up by `&[&str]`.
    children: RwLock<Vec<Child<M>>>,
}

impl Family<Counter> {
    pub const fn new(labels: &'static [&'static str]) -> Self {
        Self::empty(labels, &[])
    }
}

impl Family<Gauge> {
    pub const fn new(labels: &'static [&'static str]) -> Self {
        Self::empty(labels, &[])
    }
}

impl Family<Histogram> {
    pub const fn new(labels: &'static [&'static str], bounds: &'static [f64]) -> Self {
        Self::empty(labels, bounds)
    }
}

impl<M> Family<M> {
    pub(crate) const fn empty(labels: &'static [&'static str], bounds: &'static [f64]) -> Self {
        Family { labels, bounds, children: RwLock::new(Vec::new()) }
    }

    pub fn labels(&self) -> &'static [&'static str] {
        self.labels
    }

    /// Removes a series from the exposition. Counts into an `Arc` of it that is still in use are not exposed.
    pub fn remove(&self, values: &[&str]) -> bool {
        let mut children = self.children.write().unwrap_or_else(PoisonError::into_inner);
        match find(&children, values) {
            Ok(at) => {
                children.remove(at);
                true
            }
            Err(_) => false,
        }
    }

    pub fn clear(&self) {
        self.children.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub fn series(&self) -> Vec<Series<M>> {
        self.children().into_iter().map(|child| (child.values, child.metric)).collect()
    }

    /// All series, for the exposition; cloned, so that no query waits for the lock while they are encoded.
    pub(crate) fn children(&self) -> Vec<Child<M>> {
        self.children.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<M: Metric> Family<M> {
    /// The metric with these label values, in the order of the label names; created at first use.
    ///
    /// A wrong number of values is a bug of the caller and panics in debug builds; in release builds missing values are
    /// empty, which Prometheus treats as an absent label.
    pub fn with(&self, values: &[&str]) -> Arc<M> {
        debug_assert_eq!(values.len(), self.labels.len(), "one value for each of {:?}", self.labels);
        {
            let children = self.children.read().unwrap_or_else(PoisonError::into_inner);
            if let Ok(at) = find(&children, values) {
                return Arc::clone(&children[at].metric);
            }
        }
        let mut children = self.children.write().unwrap_or_else(PoisonError::into_inner);
        match find(&children, values) {
            // Another thread inserted it between the two locks.
            Ok(at) => Arc::clone(&children[at].metric),
            Err(at) => {
                let metric = Arc::new(M::make(self.bounds));
                let values = values.iter().map(|value| Box::from(*value)).collect();
                let child = Child { values, metric: Arc::clone(&metric), created: SystemTime::now() };
                children.insert(at, child);
                metric
            }
        }
    }
}

fn find<M>(children: &[Child<M>], values: &[&str]) -> Result<usize, usize> {
    children.binary_search_by(|child| -> Ordering {
        child.values.iter().map(|value| &**value).cmp(values.iter().copied())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_values_same_metric() {
        let f = Family::<Counter>::new(&["server", "zone"]);
        f.with(&["dns://:53", "."]).inc();
        f.with(&["dns://:53", "."]).inc();
        // The same concatenation, but other values.
        f.with(&["dns://:53.", ""]).inc();
        assert_eq!(f.with(&["dns://:53", "."]).get(), 2);
        assert_eq!(f.series().len(), 2);

        assert!(f.remove(&["dns://:53", "."]));
        assert!(!f.remove(&["dns://:53", "."]));
        assert_eq!(f.with(&["dns://:53", "."]).get(), 0);
        f.clear();
        assert!(f.series().is_empty());
    }

    #[test]
    fn racing_threads_get_one_metric() {
        static F: Family<Counter> = Family::<Counter>::new(&["n"]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..100).for_each(|n| F.with(&[&n.to_string()]).inc()));
            }
        });
        assert_eq!(F.series().len(), 100);
        assert!(F.series().iter().all(|(_, counter)| counter.get() == 8));
    }
}
