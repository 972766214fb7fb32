//! What belongs to the configuration as a whole, and shows when it begins to serve: which plugins there are, and
//! the metrics that were asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::families::Families;
use super::{legacy, runtime};

type Row = [String; 4];

/// Shared by all blocks of a configuration.
pub(super) struct Enabled {
    families: Arc<Families>,
    /// Server, zone, view and name, collected while blocks are linked.
    rows: Mutex<Vec<Row>>,
    published: AtomicBool,
    /// `runtime_metrics` stands in one of the blocks.
    pub runtime: AtomicBool,
    /// `legacy_forward_metrics` stands in one of the blocks.
    pub legacy: AtomicBool,
}

impl Enabled {
    pub fn new(families: Arc<Families>) -> Enabled {
        Enabled {
            families,
            rows: Mutex::default(),
            published: AtomicBool::new(false),
            runtime: AtomicBool::new(false),
            legacy: AtomicBool::new(false),
        }
    }

    pub fn add(&self, server: &str, zone: &str, view: &str, plugins: &[&'static str]) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.extend(plugins.iter().map(|name| [server, zone, view, name].map(str::to_owned)));
    }

    /// Puts this configuration in the place of the one before. Every block calls it, the first call does it.
    pub fn publish(&self) {
        if self.published.swap(true, Ordering::AcqRel) {
            return;
        }
        let gauges = &self.families.plugin_enabled;
        gauges.clear();
        for row in self.rows.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            gauges.with(&row.each_ref().map(String::as_str)).set(1.0);
        }
        runtime::show(self.runtime.load(Ordering::Acquire));
        legacy::show(self.legacy.load(Ordering::Acquire));
    }
}
