//! `ready`: reports over HTTP whether all plugins are ready.
//!
//! Blocks with the same address share one response, about all plugins of these blocks that offer their readiness.

mod list;
mod setup;
#[cfg(test)]
mod tests;

use server::http::HttpAnswer;
use server::log::{self, Logger};

use list::ReadyList;
pub(crate) use setup::setup;

const LOG: Logger = log::plugin("ready");
const PATH: &str = "/ready";

fn answer(list: &ReadyList, stopping: bool) -> HttpAnswer {
    if stopping {
        return HttpAnswer::text(503, "Shutting down");
    }
    let not_ready = list.not_ready();
    if not_ready.is_empty() {
        return HttpAnswer::text(200, "OK");
    }
    LOG.info(format_args!("Plugins not ready: \"{not_ready}\""));
    HttpAnswer::text(503, not_ready)
}
