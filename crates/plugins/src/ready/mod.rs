//! `ready`: reports over HTTP whether all plugins are ready.
//!
//! Blocks with the same address share one response. The reporters, plugins of their chains, are added by `link`, when
//! all blocks exist.

mod list;
mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use server::http::HttpAnswer;
use server::log::{self, Logger};
use server::{Hooks, Link, Plugin};

use list::{Monitor, ReadyList};
pub(crate) use setup::setup;

const LOG: Logger = log::plugin("ready");
const PATH: &str = "/ready";

/// Collects the reporters of its block. It is not in the query chain.
pub(crate) struct Ready {
    list: Arc<ReadyList>,
    monitor: Monitor,
}

impl Plugin for Ready {
    fn name(&self) -> &'static str {
        "ready"
    }

    fn hooks(&self) -> Hooks {
        Hooks::NONE
    }

    fn link(&self, link: &Link<'_>) {
        for plugin in link.block().chain() {
            if plugin.as_ready().is_some() {
                self.list.add(plugin.clone(), self.monitor);
            }
        }
    }
}

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
