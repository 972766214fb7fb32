//! Health checks: probes an upstream that failed until it answers again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use wire::{Flags, Query, Rtype};

use crate::Upstream;

/// The timeout of a probe.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);
/// The timeout of connecting for a probe over TCP or TLS.
pub(crate) const DIAL_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct Prober {
    fails: AtomicU32,
    probing: AtomicBool,
    stopped: AtomicBool,
    stop: Notify,
}

impl Prober {
    pub(crate) fn is_down(&self, max_fails: u32) -> bool {
        max_fails != 0 && self.fails.load(Ordering::Relaxed) > max_fails
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Also stops a task that is about to wait.
        self.stop.notify_one();
    }
}

/// Starts probing unless it already runs. The task does not keep the upstream alive.
pub(crate) fn start(upstream: &Arc<Upstream>) {
    let prober = upstream.prober();
    if prober.stopped.load(Ordering::SeqCst) || prober.probing.swap(true, Ordering::SeqCst) {
        return;
    }
    let interval = upstream.options().health.interval;
    let weak = Arc::downgrade(upstream);
    tokio::spawn(async move {
        loop {
            let Some(upstream) = weak.upgrade() else { return };
            let prober = upstream.prober();
            if prober.stopped.load(Ordering::SeqCst) {
                return;
            }
            tokio::select! {
                answered = upstream.probe() => if answered {
                    prober.fails.store(0, Ordering::Relaxed);
                    prober.probing.store(false, Ordering::SeqCst);
                    return;
                },
                () = prober.stop.notified() => return,
            }
            upstream.measure().probe_failed();
            let _ =
                prober.fails.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |fails| fails.checked_add(1));
            // The upstream may be dropped during the pause.
            drop(upstream);
            tokio::time::sleep(interval).await;
        }
    });
}

/// `. IN NS`, or what was configured.
pub(crate) fn query(upstream: &Upstream) -> Vec<u8> {
    let health = &upstream.options().health;
    let mut query = Query::ask(health.domain.as_name(), Rtype::NS);
    query.flags.set(Flags::RD, health.recursion_desired);
    query.to_packet()
}
