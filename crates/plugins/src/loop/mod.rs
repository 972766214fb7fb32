//! `loop`: asks the server itself for a name nobody else knows. If that query comes back more than twice,
//! something forwards our own queries to us, and the process ends before it drowns.
//!
//! ```text
//! start ─→ HINFO <random>.<random>.zone ─→ own listener ─→ query: seen 1 ─→ forward ─→ own listener ─→ seen 2 …
//! ```

mod probe;
mod setup;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use server::log;
use server::{Link, Plugin, Step, Visit, runtime};
use wire::{Name, NameBuf, Rtype};

pub(crate) use setup::setup;

/// Once is the probe itself; twice may still be a client that asked again.
const TOO_OFTEN: u32 = 3;

pub(crate) struct Loop {
    watch: Arc<Watch>,
}

/// What the probe and the chain share.
pub(super) struct Watch {
    zone: NameBuf,
    /// In lower case.
    name: NameBuf,
    /// Where the probe goes, as the log shows it: `:53`.
    address: OnceLock<String>,
    seen: AtomicU32,
    /// The probe is over; the name is like any other.
    off: AtomicBool,
}

impl Plugin for Loop {
    fn name(&self) -> &'static str {
        "loop"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let question = &visit.query.question;
        if question.qtype == Rtype::HINFO && self.watch.is_loop(question.lower()) {
            let detected = self.watch.detected(&visit.client.remote.to_string());
            log::fatal(Some("loop"), format_args!("{detected}"));
            // A loop eats all there is; to stop at once is kinder to the machine, and noticed.
            std::process::exit(1);
        }
        Step::Next
    }

    fn link(&self, link: &Link<'_>) {
        if let Some((server, _)) = link.served().first() {
            let address = server.strip_prefix("dns://").unwrap_or(server);
            // Only the first counts, if a plugin were linked twice.
            let _ = self.watch.address.set(address.to_owned());
        }
    }

    fn start(&self) {
        let watch = Arc::clone(&self.watch);
        supervise::spawn(runtime::handle(), "loop-probe", move || probe::run(Arc::clone(&watch)));
    }

    fn stop(&self) {
        self.watch.off.store(true, Ordering::Relaxed);
    }
}

impl Watch {
    fn new(zone: NameBuf) -> Watch {
        let name = probe::name(&zone);
        Watch {
            off: AtomicBool::new(name.is_none()),
            name: name.unwrap_or(NameBuf::root()),
            zone,
            address: OnceLock::new(),
            seen: AtomicU32::new(0),
        }
    }

    /// Notes a name that was asked for; true when ours was seen too often.
    fn is_loop(&self, name: Name<'_>) -> bool {
        !self.off.load(Ordering::Relaxed)
            && name == self.name.as_name()
            && self.seen.fetch_add(1, Ordering::Relaxed) + 1 >= TOO_OFTEN
    }

    fn detected(&self, remote: &str) -> String {
        let address = self.address.get().map_or("", String::as_str);
        let zone = golang::quoted(&self.zone.to_string());
        format!(
            "Loop ({remote} -> {address}) detected for zone {zone}, see \
             https://coredns.io/plugins/loop#troubleshooting. Query: \"HINFO {}\"",
            self.name
        )
    }
}
