//! `prometheus`: counts what passes it, and shows all metrics of the process over HTTP.
//!
//! ```text
//! query()    which cells (server, zone), start time, size of the query as it came
//! reply()    one request, its duration, sizes, code and who answered
//! refused()  the same for queries that no block took, as zone "dropped"
//! /metrics   the registry, as text or protobuf
//! ```
//!
//! The cells of a series are found once and kept, so that counting takes no lock and allocates nothing.

mod cells;
mod enabled;
mod families;
mod known;
mod legacy;
mod negotiate;
mod process;
mod qtype;
mod refused;
mod runtime;
mod setup;
mod table;
#[cfg(test)]
mod tests;
mod web;

use std::sync::{Arc, OnceLock};

use server::http::{HttpAnswer, HttpState};
use server::{Client, Hooks, Link, Observer, Outcome, Plugin, Step, Turn, Visit};
use wire::{Query, Rcode, Reply};

use cells::Seen;
use enabled::Enabled;
use families::Families;
use refused::Refused;
pub(crate) use setup::setup;
use table::Table;

const PATH: &str = "/metrics";

struct Prometheus {
    families: Arc<Families>,
    /// The block's zones as labels show them, one for each of its keys.
    zones: Vec<String>,
    /// Made when the block knows where it is served.
    table: OnceLock<Table>,
    refused: Refused,
    enabled: Arc<Enabled>,
}

impl Plugin for Prometheus {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::ANY_REPLY
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let cells =
            self.table.get().and_then(|table| table.find(visit.server(), visit.query.question.lower()));
        if let Some(at) = cells {
            visit.start_clock();
            // The query's size is taken before plugins below change it.
            let size = visit.query.plain_len() as u64;
            visit.slot().words = [at as u64 + 1, size, 0, 0];
        }
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        // Every message of a series comes by here; the query is counted with the first.
        let [number, request_size, ..] = visit.slot().words;
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let Some(cells) = at.and_then(|at| self.table.get()?.cells(at)) else { return Turn::Up };
        let (rcode, place, response_size) = match visit.outcome() {
            Outcome::Records => {
                (visit.reply.rcode, visit.answered_at(), visit.reply.plain_len(&visit.query.question))
            }
            // The server writes these later; here nothing was written.
            Outcome::Failure => (visit.reply.rcode, None, 0),
            Outcome::Drop => (Rcode::NOERROR, None, 0),
        };
        visit.slot().words = [0; 4];
        let seconds = visit.elapsed().as_secs_f64();
        cells.count(&Seen {
            client: visit.client,
            qtype: qtype::index(visit.query.question.qtype),
            dnssec_ok: visit.query.dnssec_ok(),
            rcode,
            place,
            request_size: request_size as usize,
            response_size,
            seconds,
        });
        Turn::Up
    }

    fn as_observer(&self) -> Option<&dyn Observer> {
        Some(self)
    }

    fn link(&self, link: &Link<'_>) {
        let block = link.block();
        let view = block.view_name().unwrap_or_default();
        let plugins: Vec<&'static str> = block.chain().iter().map(|plugin| plugin.name()).collect();
        // CoreDNS tells of the first key of a block only, on all its addresses.
        let first = link.served().len() / self.zones.len().max(1);
        for (server, zone) in link.served().iter().take(first) {
            self.enabled.add(server, zone, view, &plugins);
        }
        let servers = link.served().iter().map(|(server, _)| server.as_str());
        // A block is linked once; a second table would be the same.
        let _ = self.table.set(Table::new(&self.families, servers, &self.zones, view, &plugins));
    }

    fn start(&self) {
        self.enabled.publish();
    }
}

impl Observer for Prometheus {
    fn refused(&self, server: &str, query: &Query, client: &Client, reply: &Reply) {
        self.refused.count(&self.families, server, query, client, reply);
    }
}

fn answer(_: &HttpState) -> HttpAnswer {
    HttpAnswer::negotiated(200, negotiate::body)
}
