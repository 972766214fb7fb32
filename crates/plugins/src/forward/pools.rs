//! Upstreams that survive a reload, with their sockets, health and SERVFAIL streak.
//!
//! All lines with the same settings, of this configuration and of the next, share the upstream at an address. It is
//! dropped with the last line that lists it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use upstream::{Health, Options};

use super::targets::{Endpoint, Target};

#[derive(Default)]
pub(super) struct Pools {
    known: Mutex<HashMap<Endpoint, Weak<Target>>>,
}

impl Pools {
    /// The existing upstream, else a new one.
    pub fn get(&self, endpoint: Endpoint, make: impl FnOnce(Endpoint) -> Target) -> Arc<Target> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = known.get(&endpoint).and_then(Weak::upgrade) {
            return target;
        }
        known.retain(|_, target| target.strong_count() > 0);
        let target = Arc::new(make(endpoint.clone()));
        known.insert(endpoint, Arc::downgrade(&target));
        target
    }
}

/// The key of upstreams with the same settings. It destructures all options, so that a new one cannot be forgotten; what
/// differs by address is in [`Endpoint`].
pub(super) fn key(options: &Options, tls: Option<u64>, force_tcp: bool) -> String {
    let Options {
        scheme: _,
        addr: _,
        server_name: _,
        proxy_name,
        expire,
        max_age,
        max_idle,
        read_timeout,
        source,
        // Identified by the fingerprint of its files.
        tls: _,
        doh_method,
        health: Health { interval, recursion_desired, domain, tcp: _ },
        mixed_case,
    } = options;
    let sockets = (proxy_name, expire, max_age, max_idle, read_timeout, source, force_tcp);
    let health = (interval, recursion_desired, domain);
    format!("{:?}", (sockets, tls, doh_method, health, mixed_case))
}
