//! Counts queries that no block serves, for all servers of the configuration, under the zone `dropped`.

use std::sync::Arc;

use arc_swap::ArcSwap;
use server::Client;
use wire::{Query, Reply};

use super::cells::{Cells, Observation};
use super::families::Families;
use super::qtype;

const ZONE: &str = "dropped";

/// Octets of an OPT record without options.
const EMPTY_OPT_LEN: usize = 11;

/// One row of cells per server, added when the first query of a server is refused.
#[derive(Default)]
pub(super) struct RefusedQueries {
    servers: ArcSwap<Vec<Arc<Cells>>>,
}

impl RefusedQueries {
    pub fn count(
        &self,
        families: &Arc<Families>,
        server: &str,
        query: &Query,
        client: &Client,
        reply: &Reply,
    ) {
        // CoreDNS measures both sizes after it moved the query's OPT, without its options, into the reply.
        let has_opt = query.edns.is_some();
        let lost = if has_opt { query.opt_extra_len() } else { 0 };
        let gained = if has_opt && reply.opt.is_none() { EMPTY_OPT_LEN } else { 0 };
        let observation = Observation {
            client,
            qtype: qtype::index(query.question.qtype),
            dnssec_ok: query.dnssec_ok(),
            rcode: reply.rcode,
            position: None,
            request_size: query.plain_len() - lost,
            response_size: reply.plain_len(&query.question) + gained,
            seconds: 0.0,
        };
        if let Some(cells) = self.servers.load().iter().find(|cells| cells.server == server) {
            return cells.count(&observation);
        }
        let cells = Arc::new(Cells::new(families, server, ZONE, "", &[]));
        // Two threads may both add a row for the same metrics, which does no harm.
        self.servers.rcu(|servers| {
            let mut more = Vec::clone(servers);
            more.push(Arc::clone(&cells));
            more
        });
        cells.count(&observation);
    }
}
