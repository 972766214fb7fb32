//! `reload`: has the Corefile looked at for changes. The server does the looking and the reloading; this plugin
//! says how often, and which configuration runs.

mod setup;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Family, Gauge};
use server::log::{self, Logger};
use server::{Hooks, Plugin};

pub(crate) use setup::setup;

const LOG: Logger = log::plugin("reload");

/// The digest that ran last in this process, to tell a reload from the start.
static RUNNING: Mutex<Option<String>> = Mutex::new(None);

/// Tells of the configuration when it starts. It does nothing with queries.
pub(crate) struct Reload {
    digest: String,
    version_info: Arc<Family<Gauge>>,
}

impl Plugin for Reload {
    fn name(&self) -> &'static str {
        "reload"
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn start(&self) {
        LOG.info(format_args!("Running configuration SHA512 = {}", self.digest));
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        // The gauge is about reloads: there is none before the first one, as in CoreDNS.
        if let Some(before) = running.replace(self.digest.clone()) {
            self.version_info.remove(&["sha512", &before]);
            self.version_info.with(&["sha512", &self.digest]).set(1.0);
        }
    }
}
