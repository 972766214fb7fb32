//! `reload`: sets the interval at which the server checks the Corefile for changes, and reports the digest of the
//! running configuration.

mod setup;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Family, Gauge};
use server::Lifecycle;
use server::log::{self, Logger};

pub(crate) use setup::setup;

const LOG: Logger = log::plugin("reload");

/// Digest of the previous configuration of this process, to distinguish a reload from the start.
static RUNNING: Mutex<Option<String>> = Mutex::new(None);

/// Reports the configuration when it starts. It is not in the query chain.
pub(crate) struct Reload {
    digest: String,
    version_info: Arc<Family<Gauge>>,
}

impl Lifecycle for Reload {
    fn start(&self) {
        LOG.info(format_args!("Running configuration SHA512 = {}", self.digest));
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the first reload the gauge does not exist, as in CoreDNS.
        if let Some(before) = running.replace(self.digest.clone()) {
            self.version_info.remove(&["sha512", &before]);
            self.version_info.with(&["sha512", &self.digest]).set(1.0);
        }
    }
}
