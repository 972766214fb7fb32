//! Queries that no block took: counted for all servers of the configuration, under a zone that cannot be one.

use std::sync::Arc;

use arc_swap::ArcSwap;
use server::Client;
use wire::{Query, Reply};

use super::cells::{Cells, Seen};
use super::families::Families;
use super::qtype;

const ZONE: &str = "dropped";

/// An OPT record without options.
const EMPTY_OPT: usize = 11;

/// One row of cells per server, added when the first query of a server is refused.
#[derive(Default)]
pub(super) struct Refused {
    servers: ArcSwap<Vec<Arc<Cells>>>,
}

impl Refused {
    pub fn count(
        &self,
        families: &Arc<Families>,
        server: &str,
        query: &Query,
        client: &Client,
        reply: &Reply,
    ) {
        // CoreDNS looks at the sizes when the query's OPT has become the reply's and lost its options.
        let has_opt = query.edns.is_some();
        let lost = if has_opt { query.opt_extra_len() } else { 0 };
        let gained = if has_opt && reply.opt.is_none() { EMPTY_OPT } else { 0 };
        let seen = Seen {
            client,
            qtype: qtype::index(query.question.qtype),
            dnssec_ok: query.dnssec_ok(),
            rcode: reply.rcode,
            place: None,
            request_size: query.plain_len() - lost,
            response_size: reply.plain_len(&query.question) + gained,
            seconds: 0.0,
        };
        if let Some(cells) = self.servers.load().iter().find(|cells| cells.server == server) {
            return cells.count(&seen);
        }
        let cells = Arc::new(Cells::new(families, server, ZONE, "", &[]));
        // If another thread was faster there are two rows for the same metrics, which does no harm.
        self.servers.rcu(|servers| {
            let mut more = Vec::clone(servers);
            more.push(Arc::clone(&cells));
            more
        });
        cells.count(&seen);
    }
}
