//! The metrics of one server, zone and view, each looked up once and kept.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use metrics::{Counter, Histogram, Shard};
use server::{Client, Transport};
use wire::Rcode;

use super::families::Families;
use super::qtype;

/// Rcodes with a cell of their own; counters of higher ones are looked up each time.
const RCODES: usize = 24;
const TRANSPORTS: usize = 2;
const ADDRESS_FAMILIES: usize = 2;

/// A metric whose series appears with its first use, as in CoreDNS.
type Cell<M> = OnceLock<M>;

pub(super) struct Cells {
    families: Arc<Families>,
    pub server: String,
    zone: String,
    view: String,
    /// Values of the label `plugin`: first the empty one, then the chain in order.
    plugins: Vec<&'static str>,
    queries: [Cell<Queries>; TRANSPORTS * ADDRESS_FAMILIES * qtype::COUNT],
    do_requests: Cell<Arc<Counter>>,
    /// By plugin, then by rcode.
    responses: Vec<Cell<Arc<Counter>>>,
}

/// The metrics of queries of one type, transport and address family.
struct Queries {
    requests: Arc<Counter>,
    duration: Arc<Histogram>,
    request_size: Arc<Histogram>,
    response_size: Arc<Histogram>,
}

/// One query and its outcome.
pub(super) struct Observation<'a> {
    pub client: &'a Client,
    /// By [`qtype::index`].
    pub qtype: usize,
    pub dnssec_ok: bool,
    pub rcode: Rcode,
    /// Position in the chain of the plugin that answered; None if the server answered, or nobody.
    pub position: Option<usize>,
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

    pub fn count(&self, observation: &Observation<'_>) {
        let shard = Shard::current();
        let transport = match observation.client.transport {
            Transport::Udp => 0,
            Transport::Tcp => 1,
        };
        let v6 = usize::from(observation.client.family() == 2);
        let at = (transport * ADDRESS_FAMILIES + v6) * qtype::COUNT + observation.qtype;
        let queries = self.queries[at].get_or_init(|| self.queries(observation.client, observation.qtype));
        queries.requests.inc_at(shard);
        queries.duration.observe_at(shard, observation.seconds);
        queries.response_size.observe_whole_at(shard, observation.response_size);
        queries.request_size.observe_whole_at(shard, observation.request_size);
        if observation.dnssec_ok {
            let labels = || self.families.do_requests.with(&[&self.server, &self.zone, &self.view]);
            self.do_requests.get_or_init(labels).inc_at(shard);
        }
        self.response(observation.rcode, observation.position).inc_at(shard);
    }

    fn queries(&self, client: &Client, qtype: usize) -> Queries {
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

    fn response(&self, rcode: Rcode, position: Option<usize>) -> Cow<'_, Arc<Counter>> {
        // The first column has the empty plugin label.
        let column = position.map_or(0, |position| position + 1);
        let labels = || {
            let plugin = self.plugins.get(column).copied().unwrap_or_default();
            let rcode = rcode.to_string();
            self.families.responses.with(&[&self.server, &self.zone, &self.view, &rcode, plugin])
        };
        match self.responses.get(column * RCODES + usize::from(rcode.0)) {
            Some(cell) if usize::from(rcode.0) < RCODES => Cow::Borrowed(cell.get_or_init(labels)),
            // High rcodes are rare enough for a lock.
            _ => Cow::Owned(labels()),
        }
    }
}
