//! The plugins whose readiness one address reports.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use server::Plugin;

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
    plugin: Arc<dyn Plugin>,
    monitor: Monitor,
    was_ready: bool,
}

impl ReadyList {
    pub fn add(&self, plugin: Arc<dyn Plugin>, monitor: Monitor) {
        let mut reporters = self.reporters.lock().unwrap_or_else(PoisonError::into_inner);
        reporters.push(Reporter { plugin, monitor, was_ready: false });
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
            let name = reporter.plugin.name();
            let why = reporter.plugin.as_ready().and_then(|reporter| reporter.why_not());
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
        self.was_ready = self.plugin.as_ready().is_none_or(|reporter| reporter.ready());
        self.was_ready
    }
}
