//! `prometheus`: counts queries and replies, and serves all metrics of the process over HTTP.
//!
//! ```text
//! query()    finds the cells (server, zone); notes start time and size of the query as received
//! reply()    counts the request, its duration, sizes, rcode and answering plugin
//! refused()  the same for queries that no block serves, as zone "dropped"
//! /metrics   the registry, as text or protobuf
//! ```
//!
//! The cells of a series are looked up once and kept, so that counting takes no lock and allocates nothing.

mod cells;
mod config_metrics;
mod families;
mod legacy;
mod negotiate;
mod preregistered;
mod process;
mod qtype;
mod refused;
mod runtime;
mod setup;
mod table;
#[cfg(test)]
mod tests;
mod web;

use std::sync::Arc;

use server::http::{HttpAnswer, HttpRequest};
use server::{Client, Hooks, Lifecycle, Observer, Outcome, Plugin, Step, Turn, Visit};
use wire::{Query, Rcode, Reply};

use cells::Observation;
use config_metrics::ConfigMetrics;
use families::Families;
use refused::RefusedQueries;
pub(crate) use setup::setup;
use table::Table;

const NAME: &str = "prometheus";
const PATH: &str = "/metrics";

struct Prometheus {
    families: Arc<Families>,
    table: Table,
    refused: RefusedQueries,
    config_metrics: Arc<ConfigMetrics>,
}

impl Plugin for Prometheus {
    fn name(&self) -> &'static str {
        NAME
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::ANY_REPLY
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        // Without a number in the slot, `reply` counts nothing.
        if let Some(at) = self.table.find(visit.server(), visit.query.question.lower())
            && visit.is_served()
        {
            visit.start_clock();
            // The query's size is taken before plugins below change it.
            let size = visit.query.plain_len() as u64;
            visit.slot().words = [at as u64 + 1, size, 0, 0];
        }
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let [number, request_size, ..] = visit.slot().words;
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let Some(cells) = at.and_then(|at| self.table.cells(at)) else { return Turn::Up };
        let (rcode, position, response_size) = match visit.outcome() {
            Outcome::Records => (visit.reply.rcode, visit.answered_at(), visit.reply_len() as usize),
            // The server writes the reply later, so its size is unknown here.
            Outcome::Failure => (visit.reply.rcode, None, 0),
            Outcome::Drop => (Rcode::NOERROR, None, 0),
        };
        visit.slot().words = [0; 4];
        let seconds = visit.elapsed().as_secs_f64();
        cells.count(&Observation {
            client: visit.client,
            qtype: qtype::index(visit.query.question.qtype),
            dnssec_ok: visit.query.dnssec_ok(),
            rcode,
            position,
            request_size: request_size as usize,
            response_size,
            seconds,
        });
        Turn::Up
    }
}

impl Lifecycle for Prometheus {
    fn start(&self) {
        self.config_metrics.publish();
    }
}

impl Observer for Prometheus {
    fn refused(&self, server: &str, query: &Query, client: &Client, reply: &Reply) {
        self.refused.count(&self.families, server, query, client, reply);
    }
}

fn answer(request: &HttpRequest) -> HttpAnswer {
    HttpAnswer::new(200, negotiate::body(request.accept()))
}
