//! The metrics of one server, zone and view, found once each and then kept.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Histogram};
use server::{Client, Transport};
use wire::{Query, Rcode};

use super::families::Families;
use super::qtype;

/// Codes with a cell of their own; the few beyond go the long way.
const RCODES: usize = 24;
const TRANSPORTS: usize = 2;
const ADDRESS_FAMILIES: usize = 2;

/// A metric that shows up with its first use, as those of CoreDNS do.
type Cell<M> = OnceLock<Arc<M>>;

pub(super) struct Cells {
    families: Arc<Families>,
    pub server: String,
    zone: String,
    view: String,
    /// Who may answer; the first is nobody.
    plugins: Vec<&'static str>,
    requests: [Cell<Counter>; TRANSPORTS * ADDRESS_FAMILIES * qtype::COUNT],
    duration: Cell<Histogram>,
    request_size: [Cell<Histogram>; TRANSPORTS],
    response_size: [Cell<Histogram>; TRANSPORTS],
    do_requests: Cell<Counter>,
    /// By plugin, then by code.
    responses: Vec<Cell<Counter>>,
}

/// A query and what came of it.
pub(super) struct Seen<'a> {
    pub client: &'a Client,
    pub query: &'a Query,
    pub rcode: Rcode,
    /// Empty if the server itself answers, or nobody does.
    pub plugin: &'static str,
    pub request_size: usize,
    pub response_size: usize,
    pub nanos: u64,
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
            requests: [const { OnceLock::new() }; _],
            duration: OnceLock::new(),
            request_size: [const { OnceLock::new() }; _],
            response_size: [const { OnceLock::new() }; _],
            do_requests: OnceLock::new(),
            responses: (0..plugins.len() * RCODES).map(|_| OnceLock::new()).collect(),
            plugins,
        }
    }

    pub fn count(&self, seen: &Seen<'_>) {
        let (server, zone, view) = (&*self.server, &*self.zone, &*self.view);
        let proto = seen.client.transport.proto();
        let transport = match seen.client.transport {
            Transport::Udp => 0,
            Transport::Tcp => 1,
        };
        let (v6, family) = if seen.client.family() == 2 { (1, "2") } else { (0, "1") };
        let qtype = qtype::index(seen.query.question.qtype);
        let families = &*self.families;

        if seen.query.dnssec_ok() {
            self.do_requests.get_or_init(|| families.do_requests.with(&[server, zone, view])).inc();
        }
        self.requests[(transport * ADDRESS_FAMILIES + v6) * qtype::COUNT + qtype]
            .get_or_init(|| {
                families.requests.with(&[server, zone, view, proto, family, qtype::LABELS[qtype]])
            })
            .inc();
        self.duration
            .get_or_init(|| families.duration.with(&[server, zone, view]))
            .observe(seen.nanos as f64 * 1e-9);
        self.response_size[transport]
            .get_or_init(|| families.response_size.with(&[server, zone, view, proto]))
            .observe(seen.response_size as f64);
        self.request_size[transport]
            .get_or_init(|| families.request_size.with(&[server, zone, view, proto]))
            .observe(seen.request_size as f64);
        self.count_response(seen.rcode, seen.plugin);
    }

    fn count_response(&self, rcode: Rcode, plugin: &'static str) {
        let labels = |rcode: &str| {
            self.families.responses.with(&[&self.server, &self.zone, &self.view, rcode, plugin])
        };
        // Names are mostly the very same text, which is quicker found than an equal one.
        let same = |known: &&'static str| std::ptr::eq(*known, plugin);
        let place = self.plugins.iter().position(same);
        match place.or_else(|| self.plugins.iter().position(|known| *known == plugin)) {
            Some(place) if usize::from(rcode.0) < RCODES => {
                let cell = &self.responses[place * RCODES + usize::from(rcode.0)];
                cell.get_or_init(|| labels(&rcode.to_string())).inc();
            }
            // A high code, or a plugin that is not of this block: rare enough for a lock.
            _ => labels(&rcode.to_string()).inc(),
        }
    }
}
