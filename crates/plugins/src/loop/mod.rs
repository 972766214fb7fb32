//! Detects forwarding loops: sends a query for a random name to the server itself. If that query arrives three times,
//! it is being forwarded back, and the process exits before the loop exhausts it.
//!
//! ```text
//! start ─→ HINFO <random>.<random>.zone ─→ own listener ─→ query: seen 1 ─→ forward ─→ own listener ─→ seen 2 …
//! ```

mod probe;
mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use server::log;
use server::{Lifecycle, Plugin, Step, Visit, runtime};
use wire::{Name, NameBuf, Rtype};

pub(crate) use setup::setup;

/// The probe arrives once; a second time may be a retry.
const LOOP_THRESHOLD: u32 = 3;

const NAME: &str = "loop";

pub(crate) struct Loop {
    probe: Arc<ProbeState>,
}

/// State shared by the probe task and the plugin.
pub(super) struct ProbeState {
    zone: NameBuf,
    /// The probe's name, in lower case.
    name: NameBuf,
    /// Destination of the probe, as logged: `:53`.
    address: String,
    seen: AtomicU32,
    /// The probe has ended; its name has no meaning any more.
    off: AtomicBool,
}

impl Plugin for Loop {
    fn name(&self) -> &'static str {
        NAME
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let question = &visit.query.question;
        if question.qtype == Rtype::HINFO && visit.is_served() && self.probe.is_loop(question.lower()) {
            let message = self.probe.message(&visit.client.remote.to_string());
            log::fatal(Some(NAME), format_args!("{message}"));
            // A loop uses up all CPU and memory; exiting at once is safer, and noticed.
            std::process::exit(1);
        }
        Step::Next
    }
}

impl Lifecycle for Loop {
    fn start(&self) {
        let state = Arc::clone(&self.probe);
        supervise::spawn(runtime::handle(), "loop-probe", move || probe::run(Arc::clone(&state)));
    }

    fn stop(&self) {
        self.probe.off.store(true, Ordering::Relaxed);
    }
}

impl ProbeState {
    /// `server` is the listener, as metrics label it.
    fn new(zone: NameBuf, server: &str) -> ProbeState {
        let name = probe::name(&zone);
        ProbeState {
            off: AtomicBool::new(name.is_none()),
            name: name.unwrap_or(NameBuf::root()),
            zone,
            address: server.strip_prefix("dns://").unwrap_or(server).to_owned(),
            seen: AtomicU32::new(0),
        }
    }

    /// Counts a query for the probe's name; true at the third.
    fn is_loop(&self, name: Name<'_>) -> bool {
        !self.off.load(Ordering::Relaxed)
            && name == self.name.as_name()
            && self.seen.fetch_add(1, Ordering::Relaxed) + 1 >= LOOP_THRESHOLD
    }

    fn message(&self, remote: &str) -> String {
        let address = &self.address;
        let zone = golang::quoted(&self.zone.to_string());
        format!(
            "Loop ({remote} -> {address}) detected for zone {zone}, see \
             https://coredns.io/plugins/loop#troubleshooting. Query: \"HINFO {}\"",
            self.name
        )
    }
}
