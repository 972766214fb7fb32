//! The metrics of one server, zone and view, found once each and then kept.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use metrics::{Counter, Histogram, Shard};
use server::{Client, Transport};
use wire::Rcode;

use super::families::Families;
use super::qtype;

/// Codes with a cell of their own; the few beyond go the long way.
const RCODES: usize = 24;
const TRANSPORTS: usize = 2;
const ADDRESS_FAMILIES: usize = 2;

/// A metric that shows up with its first use, as those of CoreDNS do.
type Cell<M> = OnceLock<M>;

pub(super) struct Cells {
    families: Arc<Families>,
    pub server: String,
    zone: String,
    view: String,
    /// Who may answer; the first is nobody, the others are in the order of the chain.
    plugins: Vec<&'static str>,
    queries: [Cell<Queries>; TRANSPORTS * ADDRESS_FAMILIES * qtype::COUNT],
    do_requests: Cell<Arc<Counter>>,
    /// By plugin, then by code.
    responses: Vec<Cell<Arc<Counter>>>,
}

/// What every query of one type, transport and address family is counted in.
struct Queries {
    requests: Arc<Counter>,
    duration: Arc<Histogram>,
    request_size: Arc<Histogram>,
    response_size: Arc<Histogram>,
}

/// A query and what came of it.
pub(super) struct Seen<'a> {
    pub client: &'a Client,
    /// By [`qtype::index`].
    pub qtype: usize,
    pub dnssec_ok: bool,
    pub rcode: Rcode,
    /// The place in the chain of who answered; none if the server itself does, or nobody.
    pub place: Option<usize>,
    pub request_size: usize,
    pub response_size: usize,
    pub seconds: f64,
}

impl Cells {
    pub fn new(
        families: &Arc<Families>,
        server: &str,
        zone: &str,
        view: &str,
        plugins: &[&'static str],
    ) -> Cells {
        let plugins: Vec<&'static str> = [""].iter().chain(plugins).copied().collect();
        Cells {
            families: Arc::clone(families),
            server: server.to_owned(),
            zone: zone.to_owned(),
            view: view.to_owned(),
            queries: [const { OnceLock::new() }; _],
            do_requests: OnceLock::new(),
            responses: (0..plugins.len() * RCODES).map(|_| OnceLock::new()).collect(),
            plugins,
        }
    }

    pub fn count(&self, seen: &Seen<'_>) {
        let shard = Shard::here();
        let transport = match seen.client.transport {
            Transport::Udp => 0,
            Transport::Tcp => 1,
        };
        let v6 = usize::from(seen.client.family() == 2);
        let at = (transport * ADDRESS_FAMILIES + v6) * qtype::COUNT + seen.qtype;
        let queries = self.queries[at].get_or_init(|| self.queries_of(seen.client, seen.qtype));
        queries.requests.inc_at(shard);
        queries.duration.observe_at(shard, seen.seconds);
        queries.response_size.observe_whole_at(shard, seen.response_size);
        queries.request_size.observe_whole_at(shard, seen.request_size);
        if seen.dnssec_ok {
            let labels = || self.families.do_requests.with(&[&self.server, &self.zone, &self.view]);
            self.do_requests.get_or_init(labels).inc_at(shard);
        }
        self.response(seen.rcode, seen.place).inc_at(shard);
    }

    fn queries_of(&self, client: &Client, qtype: usize) -> Queries {
        let (server, zone, view) = (&*self.server, &*self.zone, &*self.view);
        let families = &*self.families;
        let proto = client.transport.proto();
        let family = if client.family() == 2 { "2" } else { "1" };
        Queries {
            requests: families.requests.with(&[server, zone, view, proto, family, qtype::LABELS[qtype]]),
            duration: families.duration.with(&[server, zone, view]),
            request_size: families.request_size.with(&[server, zone, view, proto]),
            response_size: families.response_size.with(&[server, zone, view, proto]),
        }
    }

    fn response(&self, rcode: Rcode, place: Option<usize>) -> Cow<'_, Arc<Counter>> {
        // The first column is nobody's.
        let column = place.map_or(0, |place| place + 1);
        let labels = || {
            let plugin = self.plugins.get(column).copied().unwrap_or_default();
            let rcode = rcode.to_string();
            self.families.responses.with(&[&self.server, &self.zone, &self.view, &rcode, plugin])
        };
        match self.responses.get(column * RCODES + usize::from(rcode.0)) {
            Some(cell) if usize::from(rcode.0) < RCODES => Cow::Borrowed(cell.get_or_init(labels)),
            // A high code is rare enough for a lock.
            _ => Cow::Owned(labels()),
        }
    }
}
