//! Metrics of the configuration as a whole, published when it starts to serve: `coredns_plugin_enabled` and the
//! optional metrics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::families::Families;
use super::{legacy, runtime};

type Row = [String; 4];

/// Shared by all blocks of a configuration.
pub(super) struct ConfigMetrics {
    families: Arc<Families>,
    /// Server, zone, view and name, collected while blocks are linked.
    rows: Mutex<Vec<Row>>,
    published: AtomicBool,
    /// One of the blocks has `runtime_metrics`.
    pub runtime: AtomicBool,
    /// One of the blocks has `legacy_forward_metrics`.
    pub legacy: AtomicBool,
}

impl ConfigMetrics {
    pub fn new(families: Arc<Families>) -> ConfigMetrics {
        ConfigMetrics {
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

    /// Replaces the previous configuration's metrics by these. Every block calls it; only the first call acts.
    pub fn publish(&self) {
        if self.published.swap(true, Ordering::AcqRel) {
            return;
        }
        let gauges = &self.families.plugin_enabled;
        gauges.clear();
        for row in self.rows.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            gauges.with(&row.each_ref().map(String::as_str)).set(1.0);
        }
        runtime::set_enabled(self.runtime.load(Ordering::Acquire));
        legacy::set_enabled(self.legacy.load(Ordering::Acquire));
    }
}
