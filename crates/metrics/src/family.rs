//! Metrics of one name, told apart by labels.

use std::cmp::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use crate::text::Metric;
use crate::{Counter, Gauge, Histogram};

/// Label values, in the order of the label names, and the metric they select.
pub type Series<M> = (Box<[Box<str>]>, Arc<M>);

/// A series and when it was made.
#[derive(Debug)]
pub(crate) struct Child<M> {
    pub values: Box<[Box<str>]>,
    pub metric: Arc<M>,
    pub created: SystemTime,
}

// By hand, because a derive would ask the metric to be `Clone`.
impl<M> Clone for Child<M> {
    fn clone(&self) -> Self {
        Child { values: self.values.clone(), metric: Arc::clone(&self.metric), created: self.created }
    }
}

/// A metric per combination of label values. Look-ups take a lock: do them at setup and keep the `Arc`.
#[derive(Debug)]
pub struct Family<M> {
    labels: &'static [&'static str],
    bounds: &'static [f64],
    /// Sorted by values; not a map, because a map cannot be asked with `&[&str]` for owned keys.
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

    /// Takes a series out of the exposition. Whoever still holds its `Arc` counts on unseen.
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

    /// All series.
    pub fn series(&self) -> Vec<Series<M>> {
        self.children().into_iter().map(|child| (child.values, child.metric)).collect()
    }

    /// All series, for the exposition; copied out, so that no query waits while they are written.
    pub(crate) fn children(&self) -> Vec<Child<M>> {
        self.children.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<M: Metric> Family<M> {
    /// The metric of these label values, in the order of the label names; made at first use.
    ///
    /// A wrong number of values is a mistake in the caller, caught in debug builds; in release the missing ones
    /// read as empty, which is what Prometheus takes an absent label for.
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
            // Another thread was faster between the two locks.
            Ok(at) => Arc::clone(&children[at].metric),
            Err(at) => {
                let made = Arc::new(M::make(self.bounds));
                let values = values.iter().map(|value| Box::from(*value)).collect();
                let metric = Arc::clone(&made);
                children.insert(at, Child { values, metric, created: SystemTime::now() });
                made
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
        // Values must not run together.
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
