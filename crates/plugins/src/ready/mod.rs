//! `ready`: says over HTTP whether all plugins that need data have it.
//!
//! All blocks with the same address are told of together. The reporters are plugins of their chains, known once
//! all blocks exist; until then there are none.

mod list;
mod setup;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use server::http::{HttpAnswer, HttpState};
use server::log::{self, Logger};
use server::{Hooks, Link, Plugin};

use list::{Monitor, ReadyList};
pub(crate) use setup::setup;

const LOG: Logger = log::plugin("ready");
const PATH: &str = "/ready";

/// Collects the reporters of its block. It does nothing with queries.
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

fn answer(list: &ReadyList, state: &HttpState) -> HttpAnswer {
    if state.stopping {
        return HttpAnswer::text(503, "Shutting down");
    }
    let waiting = list.not_ready();
    if waiting.is_empty() {
        return HttpAnswer::text(200, "OK");
    }
    LOG.info(format_args!("Plugins not ready: \"{waiting}\""));
    HttpAnswer::text(503, waiting)
}
