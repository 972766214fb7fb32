//! A DNS server on loopback that follows a script, including faults, and records the queries.
//!
//! ```no_run
//! use testkit::scripted_upstream::{ScriptedUpstream, Step};
//! # fn main() -> testkit::Result<()> {
//! let upstream = ScriptedUpstream::start()?;
//! upstream.on("www.example.", [Step::Silence, Step::address("192.0.2.1", 300)?]);
//! // ... point a server at upstream.addr() and query it twice ...
//! assert_eq!(upstream.count("www.example."), 2);
//! # Ok(())
//! # }
//! ```
//!
//! UDP and TCP share one port. Each query for a name uses its next step; the last one repeats. Answers depend
//! on the script and the query alone, so that CoreDNS and Rhumb can share one upstream.

mod record;
mod serve;
mod step;
mod timer;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::client::Transport;
use crate::error::Result;
use crate::ports;
use serve::Running;
use timer::Timer;

pub use record::Record;
pub use step::{Reply, Step};

pub struct ScriptedUpstream {
    addr: SocketAddr,
    shared: Arc<Shared>,
    running: Mutex<Option<Running>>,
}

/// A received query.
#[derive(Clone, Debug)]
pub struct ReceivedQuery {
    /// Presentation form, in the client's case.
    pub name: String,
    pub qtype: u16,
    pub id: u16,
    pub transport: Transport,
    pub from: SocketAddr,
    pub at: Instant,
    pub packet: Vec<u8>,
}

/// How TCP connections are handled, whatever their queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// Serve all queries.
    Serve,
    /// Close it at once.
    Close,
    /// Close it after the first answer.
    CloseAfterAnswer,
}

/// State shared by the threads and the handle.
struct Shared {
    scripts: Mutex<Scripts>,
    seen: Mutex<Vec<ReceivedQuery>>,
    silent: AtomicBool,
    accept: AtomicU8,
    timer: Timer,
}

#[derive(Default)]
struct Scripts {
    /// By whole name or first label, in lower case, without the closing dot.
    by_name: BTreeMap<String, Script>,
    otherwise: Script,
}

#[derive(Default)]
struct Script {
    steps: Vec<Step>,
    next: usize,
}

impl Script {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), next: 0 }
    }

    /// The next step, or the last one again. REFUSED without a script, so that it is noticed.
    fn take(&mut self) -> Step {
        let step = self.steps.get(self.next.min(self.steps.len().saturating_sub(1)));
        self.next += 1;
        step.cloned().unwrap_or(Step::Refused)
    }
}

impl ScriptedUpstream {
    /// Listens on a free port; answers REFUSED until it has a script.
    pub fn start() -> Result<Self> {
        Self::start_at(ports::free_addr()?)
    }

    /// The same at an unused address, as in a test's own network namespace.
    pub fn start_at(addr: SocketAddr) -> Result<Self> {
        let shared = Arc::new(Shared {
            scripts: Mutex::default(),
            seen: Mutex::default(),
            silent: AtomicBool::new(false),
            accept: AtomicU8::new(Accept::Serve as u8),
            timer: Timer::start(),
        });
        let running = Running::start(addr, &shared)?;
        Ok(Self { addr, shared, running: Mutex::new(Some(running)) })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Sets the script for `name`: a whole name, or a first label if it has no dot. A whole name takes
    /// precedence over a label. Replaces an earlier script.
    pub fn on(&self, name: &str, steps: impl IntoIterator<Item = Step>) {
        locked(&self.shared.scripts).by_name.insert(key(name), Script::new(steps));
    }

    /// Sets the script for all other queries.
    pub fn otherwise(&self, steps: impl IntoIterator<Item = Step>) {
        locked(&self.shared.scripts).otherwise = Script::new(steps);
    }

    /// Sets how connections are handled from now on.
    pub fn accept(&self, accept: Accept) {
        self.shared.accept.store(accept as u8, Ordering::SeqCst);
    }

    /// Closes all open TCP connections.
    pub fn close_connections(&self) {
        if let Some(running) = &*locked(&self.running) {
            running.close_connections();
        }
    }

    /// Records queries and answers none, until [`Self::switch_on`].
    pub fn silence(&self) {
        self.shared.silent.store(true, Ordering::SeqCst);
    }

    /// Closes the port: UDP is refused by the kernel, and so is TCP.
    pub fn switch_off(&self) {
        locked(&self.running).take();
    }

    /// Answers again, on the same port.
    pub fn switch_on(&self) -> Result<()> {
        self.shared.silent.store(false, Ordering::SeqCst);
        let mut running = locked(&self.running);
        if running.is_none() {
            *running = Some(Running::start(self.addr, &self.shared)?);
        }
        Ok(())
    }

    /// Every query so far, in the order of arrival.
    pub fn seen(&self) -> Vec<ReceivedQuery> {
        locked(&self.shared.seen).clone()
    }

    /// Number of queries for a name, in any case.
    pub fn count(&self, name: &str) -> usize {
        let name = key(name);
        locked(&self.shared.seen).iter().filter(|seen| key(&seen.name) == name).count()
    }

    pub fn total(&self) -> usize {
        locked(&self.shared.seen).len()
    }

    /// Clears the recorded queries; the scripts continue.
    pub fn forget(&self) {
        locked(&self.shared.seen).clear();
    }
}

impl Shared {
    fn step_for(&self, name: &str) -> Step {
        let whole = key(name);
        let mut scripts = locked(&self.scripts);
        let label = whole.split('.').next().unwrap_or_default();
        let found = if scripts.by_name.contains_key(&whole) { &whole } else { label };
        match scripts.by_name.get_mut(found) {
            Some(script) => script.take(),
            None => scripts.otherwise.take(),
        }
    }

    fn record(&self, query: ReceivedQuery) {
        locked(&self.seen).push(query);
    }
}

fn key(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// A poisoned lock must not hide the first failure.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
