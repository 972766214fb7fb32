//! The plugins whose readiness one address reports.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use server::{Offered, Ready};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Monitor {
    /// A plugin that was ready once is not checked again.
    UntilReady,
    Continuously,
}

/// Every reporter of every block with this address. CoreDNS keeps only one per plugin name.
#[derive(Default)]
pub(crate) struct ReadyList {
    reporters: Mutex<Vec<Reporter>>,
    /// The HTTP route of the address is registered.
    routed: AtomicBool,
}

struct Reporter {
    plugin: &'static str,
    ready: Arc<dyn Ready>,
    monitor: Monitor,
    was_ready: bool,
}

impl ReadyList {
    pub fn add(&self, reporter: Offered<dyn Ready>, monitor: Monitor) {
        let Offered { plugin, value: ready, .. } = reporter;
        let mut reporters = self.reporters.lock().unwrap_or_else(PoisonError::into_inner);
        reporters.push(Reporter { plugin, ready, monitor, was_ready: false });
    }

    /// True the first time.
    pub fn needs_route(&self) -> bool {
        !self.routed.swap(true, Ordering::Relaxed)
    }

    /// Names of the plugins that are not ready, with their reasons if given; sorted, deduplicated, separated by commas.
    pub fn not_ready(&self) -> String {
        let mut reporters = self.reporters.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = reporters.iter_mut().filter_map(|reporter| {
            if reporter.is_ready() {
                return None;
            }
            let name = reporter.plugin;
            let why = reporter.ready.why_not();
            Some(why.map_or_else(|| name.to_owned(), |why| format!("{name}: {why}")))
        });
        entries.collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>().join(",")
    }
}

impl Reporter {
    fn is_ready(&mut self) -> bool {
        if self.monitor == Monitor::UntilReady && self.was_ready {
            return true;
        }
        self.was_ready = self.ready.ready();
        self.was_ready
    }
}
