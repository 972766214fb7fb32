//! Forwards queries to upstream servers, and passes their replies on unchanged.
//!
//! ```text
//! query ─matches?─→ packet ──→ Exchange (policy, down?, failover) ──→ upstream ──→ reply
//!                     │ waits on the worker or on tokio; owns the packet and a snapshot of the list
//!                     └─ Targets: hosts, addresses and resolv.conf files, updated when they change
//!                           └─ Pools: upstreams with their sockets and health, which survive reloads
//! ```

mod concurrency;
mod destination;
mod exchange;
mod hostname;
mod legacy;
mod number;
mod options;
mod policy;
mod pools;
mod setup;
mod streak;
mod tap;
mod targets;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::Counter;
use server::log::{self, Logger};
use server::{Metadata, MetadataView, Plugin, Slot, Step, Tap, Transport, Visit, task};
use upstream::Network;
use wire::{NameBuf, Rcode, Section};

use crate::messages::packet;
use crate::options::is_under_any;
use concurrency::ConcurrencyLimit;
use exchange::{Exchange, ExchangeResult, Outcome};
pub(crate) use legacy::setup as setup_proxy;
use policy::Policy;
pub(crate) use setup::setup;
use targets::Targets;

const NAME: &str = "forward";
const LOG: Logger = log::plugin(NAME);

/// No attempt of a query starts after this time.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

static HEALTHCHECK_BROKEN: Counter = Counter::new();
static MAX_CONCURRENT_REJECTS: Counter = Counter::new();

/// One `forward` line.
pub(crate) struct Forward {
    from: NameBuf,
    except: Vec<NameBuf>,
    next: NextRules,
    network: NetworkChoice,
    concurrency: Arc<ConcurrencyLimit>,
    core: Arc<Core>,
    taps: Taps,
}

/// What plugins of the block offer to record exchanges.
type Taps = Arc<[Arc<dyn Tap>]>;

/// Upstreams and settings, shared with exchanges, which run apart from the walk.
struct Core {
    targets: Arc<Targets>,
    policy: Policy,
    max_fails: u32,
    /// 0 is no limit; the default is two per upstream.
    max_attempts: Option<u32>,
    failfast: bool,
    failover: Vec<Rcode>,
    /// Repeat a query over TCP if its UDP reply was truncated.
    retry_truncated: bool,
    /// Treat upstreams that answer only SERVFAIL as down, for this long.
    servfail_hold: Option<Duration>,
}

/// The network for upstream queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NetworkChoice {
    AsClient,
    Always(Network),
}

impl NetworkChoice {
    fn choose(self, client: Transport) -> Network {
        match (self, client) {
            (NetworkChoice::Always(network), _) => network,
            (NetworkChoice::AsClient, Transport::Udp) => Network::Udp,
            (NetworkChoice::AsClient, Transport::Tcp) => Network::Tcp,
        }
    }
}

impl Plugin for Forward {
    fn name(&self) -> &'static str {
        NAME
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        if !self.matches(visit) {
            return Step::Next;
        }
        let permit = match self.concurrency.acquire(visit.is_served()) {
            Ok(permit) => permit,
            Err(error) => {
                if visit.is_served() {
                    MAX_CONCURRENT_REJECTS.inc();
                }
                return Step::error(Rcode::REFUSED, error);
            }
        };
        let ours = Instant::now() + QUERY_TIMEOUT;
        let tapped = visit.is_served() && !self.taps.is_empty();
        let tap = tapped.then(|| tap::TapContext::new(&self.taps, visit.query));
        let exchange = Exchange {
            core: Arc::clone(&self.core),
            packet: packet::of(visit.query),
            network: self.network.choose(visit.client.transport),
            udp_size: match visit.client.transport {
                Transport::Udp => visit.query.udp_limit() as u16,
                Transport::Tcp => u16::MAX,
            },
            deadline: visit.deadline().map_or(ours, |end| end.min(ours)),
            record_attempts: tap.is_some() || visit.spans().is_some(),
            explain: visit.is_explained(),
            served: visit.is_served(),
        };
        let next = self.next.clone();
        Step::Wait(task(exchange.run(permit), move |result, visit| {
            if let Some(last) = result.last {
                store_upstream(visit.slot(), last);
            }
            if let Some(tap) = tap {
                tap.report(&result.attempts, visit);
            }
            if let Some(spans) = visit.spans() {
                for attempt in &result.attempts {
                    spans.add("connect", attempt.began, attempt.ended, attempt.upstream);
                }
            }
            finish(result, &next, visit)
        }))
    }
}

impl Forward {
    /// FROM itself matches even if an exception names it.
    fn matches(&self, visit: &mut Visit<'_>) -> bool {
        let name = visit.query.question.lower();
        if !name.is_under(self.from.as_name()) {
            return false;
        }
        if name != self.from.as_name() && is_under_any(name, &self.except) {
            visit.note(|_| "excluded by `except`".to_owned());
            return false;
        }
        true
    }
}

/// Replies after which the query goes to the next `forward`; none if the next plugin is another one.
#[derive(Clone, Default)]
struct NextRules {
    rcodes: Vec<Rcode>,
    on_nodata: bool,
}

/// Turns the result of an exchange into the plugin's step.
fn finish(mut result: ExchangeResult, next: &NextRules, visit: &mut Visit<'_>) -> Step {
    visit.note(|_| result.explain());
    for step in result.take_steps() {
        visit.note_step(|_| step);
    }
    match result.outcome {
        Outcome::Answer(message) => {
            if visit.reply.decode(&message).is_none() {
                // Cannot happen: the upstream client rejects malformed messages.
                return Step::error(Rcode::SERVFAIL, "malformed reply from upstream");
            }
            let reply = &*visit.reply;
            let nodata = reply.rcode == Rcode::NOERROR && reply.section(Section::Answer).is_empty();
            if next.rcodes.contains(&reply.rcode) || next.on_nodata && nodata {
                // Metadata must name the upstream of the next `forward`.
                visit.slot().words = [0; 4];
                return Step::Next;
            }
            Step::Answer
        }
        Outcome::WrongQuestion => {
            visit.reply.begin_error(visit.query, Rcode::FORMERR);
            Step::Answer
        }
        Outcome::Failed(error) => {
            Step::error(Rcode::SERVFAIL, error.unwrap_or_else(|| "no healthy proxies".to_owned()))
        }
    }
}

/// Stores the upstream's address in the slot: family and port, then the address.
fn store_upstream(slot: &mut Slot, addr: SocketAddr) {
    let (family, bits) = match addr.ip() {
        IpAddr::V4(ip) => (4, u128::from(ip.to_bits())),
        IpAddr::V6(ip) => (6, ip.to_bits()),
    };
    slot.words = [family << 16 | u64::from(addr.port()), (bits >> 64) as u64, bits as u64, 0];
}

fn stored_upstream(slot: &Slot) -> Option<SocketAddr> {
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
        Some(stored_upstream(view.slot()?)?.to_string())
    }
}

/// Registers the metrics. An error means that an earlier configuration did.
pub(crate) fn register_metrics() {
    let registry = metrics::registry();
    let help = "Counter of the number of complete failures of the healthchecks.";
    let _ = registry.register_counter("coredns_forward_healthcheck_broken_total", help, &HEALTHCHECK_BROKEN);
    let help = "Counter of the number of queries rejected because the concurrent queries were at maximum.";
    let name = "coredns_forward_max_concurrent_rejects_total";
    let _ = registry.register_counter(name, help, &MAX_CONCURRENT_REJECTS);
}
