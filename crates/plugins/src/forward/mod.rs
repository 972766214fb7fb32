//! `forward`: asks other servers, and gives their replies on as they came.
//!
//! ```text
//! query ─matches?─→ packet ──→ Asking (policy, down?, failover) ──→ upstream ──→ reply
//!                     │ waits on the worker or on tokio; owns the packet and a snapshot of the list
//!                     └─ Targets: hosts, addresses and resolv.conf files, followed when they change
//!                           └─ Pools: upstreams with their sockets and health; a reload finds them again
//! ```

mod asking;
mod concurrent;
mod hostname;
mod number;
mod old;
mod options;
mod policy;
mod pools;
mod setup;
mod streak;
mod tap;
mod targets;
#[cfg(test)]
mod tests;
mod to;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use metrics::Counter;
use server::log::{self, Logger};
use server::{Link, Metadata, MetadataView, Plugin, Slot, Step, Transport, Visit, task};
use upstream::Network;
use wire::{NameBuf, Rcode, Section};

use crate::packet;
use crate::parse::is_under_any;
use asking::{Asked, Asking, End};
use concurrent::Concurrent;
pub(crate) use old::setup as setup_proxy;
use policy::Policy;
pub(crate) use setup::setup;
use targets::Targets;

const NAME: &str = "forward";
const LOG: Logger = log::plugin(NAME);

/// All attempts of one query begin within this time.
const PATIENCE: Duration = Duration::from_secs(5);

static HEALTHCHECK_BROKEN: Counter = Counter::new();
static MAX_CONCURRENT_REJECTS: Counter = Counter::new();

/// One `forward` line.
pub(crate) struct Forward {
    from: NameBuf,
    except: Vec<NameBuf>,
    next_rcodes: Vec<Rcode>,
    next_on_nodata: bool,
    /// The plugin behind this one is a `forward` too; only then `next` means anything.
    next_is_forward: AtomicBool,
    network: WhichNetwork,
    concurrent: Arc<Concurrent>,
    core: Arc<Core>,
    /// Those of the block that record exchanges.
    taps: OnceLock<Taps>,
}

/// Plugins with a [`server::Tap`].
type Taps = Arc<[Arc<dyn Plugin>]>;

/// What an exchange needs while the walk is elsewhere.
struct Core {
    targets: Arc<Targets>,
    policy: Policy,
    max_fails: u32,
    /// 0 is no limit; by default two for each upstream.
    max_attempts: Option<u32>,
    failfast: bool,
    failover: Vec<Rcode>,
    /// A UDP reply that was truncated is fetched again over TCP.
    retry_truncated: bool,
    /// Upstreams that answer SERVFAIL and nothing else are down too; asked again after this time.
    servfail_hold: Option<Duration>,
}

/// How to ask, given how we were asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhichNetwork {
    AsClient,
    Always(Network),
}

impl WhichNetwork {
    fn choose(self, client: Transport) -> Network {
        match (self, client) {
            (WhichNetwork::Always(network), _) => network,
            (WhichNetwork::AsClient, Transport::Udp) => Network::Udp,
            (WhichNetwork::AsClient, Transport::Tcp) => Network::Tcp,
        }
    }
}

impl Plugin for Forward {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Others may know more classes than IN.
    fn opens_classes(&self) -> bool {
        true
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        if !self.takes(visit) {
            return Step::Next;
        }
        let permit = match self.concurrent.enter() {
            Ok(permit) => permit,
            Err(too_many) => {
                MAX_CONCURRENT_REJECTS.inc();
                return Step::error(Rcode::REFUSED, too_many);
            }
        };
        let ours = Instant::now() + PATIENCE;
        let tapping = self.taps.get().map(|taps| tap::Tapping::new(taps, visit.query));
        let asking = Asking {
            core: Arc::clone(&self.core),
            packet: packet::of(visit.query),
            network: self.network.choose(visit.client.transport),
            udp_size: match visit.client.transport {
                Transport::Udp => visit.query.udp_limit() as u16,
                Transport::Tcp => u16::MAX,
            },
            deadline: visit.deadline().map_or(ours, |end| end.min(ours)),
            observed: tapping.is_some() || visit.spans().is_some(),
            explained: visit.is_explained(),
        };
        let next = self.next();
        Step::Wait(task(asking.ask(permit), move |asked, visit| {
            if let Some(last) = asked.last {
                remember(visit.slot(), last);
            }
            if let Some(tapping) = tapping {
                tapping.tell(&asked.attempts, visit);
            }
            if let Some(spans) = visit.spans() {
                for attempt in &asked.attempts {
                    spans.add("connect", attempt.began, attempt.ended, attempt.upstream);
                }
            }
            finish(asked, &next, visit)
        }))
    }

    fn as_metadata(&self) -> Option<&dyn Metadata> {
        Some(self)
    }

    fn link(&self, link: &Link<'_>) {
        let chain = link.block().chain();
        let own = std::ptr::from_ref(self).cast::<()>();
        let place = chain.iter().position(|plugin| Arc::as_ptr(plugin).cast::<()>() == own);
        let next = place.and_then(|place| chain.get(place + 1));
        self.next_is_forward.store(next.is_some_and(|plugin| plugin.name() == NAME), Ordering::Relaxed);
        let taps: Taps = chain.iter().filter(|plugin| plugin.as_tap().is_some()).cloned().collect();
        if !taps.is_empty() {
            let _ = self.taps.set(taps);
        }
    }
}

impl Forward {
    /// FROM itself is ours even if an exception names it.
    fn takes(&self, visit: &mut Visit<'_>) -> bool {
        let name = visit.query.question.lower();
        if !name.is_under(self.from.as_name()) {
            return false;
        }
        if name != self.from.as_name() && is_under_any(name, &self.except) {
            visit.note(|_| "excepted from forwarding".to_owned());
            return false;
        }
        true
    }

    fn next(&self) -> Next {
        if !self.next_is_forward.load(Ordering::Relaxed) {
            return Next::default();
        }
        Next { rcodes: self.next_rcodes.clone(), on_nodata: self.next_on_nodata }
    }
}

/// Which replies leave the query to the `forward` behind this one.
#[derive(Default)]
struct Next {
    rcodes: Vec<Rcode>,
    on_nodata: bool,
}

/// Brings what came of an exchange into the walk.
fn finish(mut asked: Asked, next: &Next, visit: &mut Visit<'_>) -> Step {
    visit.note(|_| asked.explain());
    for step in asked.take_steps() {
        visit.note_step(|_| step);
    }
    match asked.end {
        End::Answer(message) => {
            if visit.reply.decode(&message).is_none() {
                // The client of ours lets nothing pass that cannot be read.
                return Step::error(Rcode::SERVFAIL, "the reply cannot be read");
            }
            let reply = &*visit.reply;
            let nodata = reply.rcode == Rcode::NOERROR && reply.section(Section::Answer).is_empty();
            if next.rcodes.contains(&reply.rcode) || next.on_nodata && nodata {
                // What the next one finds is what metadata should tell.
                visit.slot().words = [0; 4];
                return Step::Next;
            }
            Step::Answer
        }
        End::WrongQuestion => {
            visit.reply.begin_error(visit.query, Rcode::FORMERR);
            Step::Answer
        }
        End::Failed(error) => {
            Step::error(Rcode::SERVFAIL, error.unwrap_or_else(|| "no healthy proxies".to_owned()))
        }
    }
}

/// Notes an upstream in plain words: family and port, then the address.
fn remember(slot: &mut Slot, addr: SocketAddr) {
    let (family, bits) = match addr.ip() {
        IpAddr::V4(ip) => (4, u128::from(ip.to_bits())),
        IpAddr::V6(ip) => (6, ip.to_bits()),
    };
    slot.words = [family << 16 | u64::from(addr.port()), (bits >> 64) as u64, bits as u64, 0];
}

fn remembered(slot: &Slot) -> Option<SocketAddr> {
    let [head, high, low, _] = slot.words;
    let ip = match head >> 16 {
        4 => IpAddr::V4(Ipv4Addr::from_bits(low as u32)),
        6 => IpAddr::V6(Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low))),
        _ => return None,
    };
    Some(SocketAddr::new(ip, head as u16))
}

impl Metadata for Forward {
    fn value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        if label != "forward/upstream" {
            return None;
        }
        Some(remembered(view.slot()?)?.to_string())
    }
}

/// Makes the metrics known. Names that are taken are ours, from an earlier configuration.
pub(crate) fn register_metrics() {
    let registry = metrics::registry();
    let help = "Counter of the number of complete failures of the healthchecks.";
    let _ = registry.register_counter("coredns_forward_healthcheck_broken_total", help, &HEALTHCHECK_BROKEN);
    let help = "Counter of the number of queries rejected because the concurrent queries were at maximum.";
    let name = "coredns_forward_max_concurrent_rejects_total";
    let _ = registry.register_counter(name, help, &MAX_CONCURRENT_REJECTS);
}
