//! A server block at work: its chain of plugins and what they said about themselves at setup.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Family};
use wire::NameBuf;

use crate::visit::MetadataView;
use crate::{Hooks, Plugin, Proxied};

/// One server block. All its keys share the same plugins.
pub struct Block {
    chain: Vec<Arc<dyn Plugin>>,
    /// Plugins no query passes.
    beside: Vec<Arc<dyn Plugin>>,
    /// One bit per plugin, by the place in the chain.
    pub(crate) wants_query: u64,
    pub(crate) wants_records: u64,
    pub(crate) wants_failure: u64,
    pub(crate) wants_drop: u64,
    pub(crate) wants_sent: u64,
    /// Some plugin notes the steps of queries.
    pub(crate) traced: bool,
    filters: Vec<usize>,
    metadata_providers: Vec<usize>,
    pub(crate) settings: BlockSettings,
}

/// What directives without a plugin of their own say about their block.
#[derive(Clone, Debug, Default)]
pub struct BlockSettings {
    /// Zones for which metadata is collected; None without the `metadata` directive.
    pub metadata_zones: Option<Vec<NameBuf>>,
    /// Somebody in the block tells how Services are reached from outside.
    pub outside: bool,
    pub debug: bool,
    pub stacktrace: bool,
    pub read_timeout: Option<Duration>,
    pub write_timeout: Option<Duration>,
    pub idle_timeout: Option<Duration>,
    /// -1 is no limit.
    pub max_tcp_queries: Option<i64>,
    /// Sockets per address; None leaves it to the server.
    pub sockets: Option<usize>,
    /// Replies that find no room in a socket's send buffer are kept a while and not waited for; those lost all the
    /// same are counted here by server and `response`.
    pub lost_replies: Option<Arc<Family<Counter>>>,
    /// Clients come through proxies that say who they are.
    pub proxied: Option<Proxied>,
}

/// More plugins than bits would be needed for a chain nobody writes; setup refuses it.
pub(crate) const MAX_CHAIN: usize = 64;

impl Block {
    pub fn new(chain: Vec<Arc<dyn Plugin>>, settings: BlockSettings) -> Block {
        assert!(chain.len() <= MAX_CHAIN, "a chain has at most {MAX_CHAIN} plugins");
        let mask = |hook: Hooks| {
            chain
                .iter()
                .enumerate()
                .filter(|(_, p)| p.hooks().has(hook))
                .fold(0u64, |mask, (i, _)| mask | 1 << i)
        };
        let places = |wanted: &dyn Fn(&Arc<dyn Plugin>) -> bool| {
            chain.iter().enumerate().filter(|(_, p)| wanted(p)).map(|(i, _)| i).collect::<Vec<_>>()
        };
        Block {
            wants_query: mask(Hooks::QUERY),
            wants_records: mask(Hooks::RECORDS),
            wants_failure: mask(Hooks::FAILURE),
            wants_drop: mask(Hooks::DROP),
            wants_sent: mask(Hooks::SENT),
            traced: chain.iter().any(|plugin| plugin.traces()),
            filters: places(&|p| p.as_filter().is_some()),
            metadata_providers: places(&|p| p.as_metadata().is_some()),
            settings,
            beside: Vec::new(),
            chain,
        }
    }

    pub(crate) fn with_beside(mut self, beside: Vec<Arc<dyn Plugin>>) -> Block {
        self.beside = beside;
        self
    }

    /// The plugins in the order a query meets them.
    pub fn chain(&self) -> &[Arc<dyn Plugin>] {
        &self.chain
    }

    /// All plugins that came out of the block's directives, those in the chain first.
    pub fn plugins(&self) -> impl Iterator<Item = &Arc<dyn Plugin>> {
        self.chain.iter().chain(&self.beside)
    }

    /// The name of the view that guards this block, or nothing.
    pub fn view_name(&self) -> Option<&str> {
        let &first = self.filters.first()?;
        self.chain[first].as_filter().map(|filter| filter.view_name())
    }

    pub(crate) fn is_filtered(&self) -> bool {
        !self.filters.is_empty()
    }

    /// Whether the block takes this query; without a view it always does.
    pub(crate) fn accepts(
        &self,
        query: &wire::Query,
        client: &crate::Client,
        view: &dyn Fn(&str) -> Option<String>,
    ) -> bool {
        self.filters.iter().all(|&place| {
            self.chain[place].as_filter().is_some_and(|filter| filter.accepts(query, client, view))
        })
    }

    /// Asks the providers for a label, if this block collects metadata for the query's name.
    pub(crate) fn metadata(&self, label: &str, mut view: MetadataView<'_>) -> Option<String> {
        let zones = self.settings.metadata_zones.as_ref()?;
        let name = view.query.question.lower();
        if !zones.iter().any(|zone| name.is_under(zone.as_name())) {
            return None;
        }
        self.metadata_providers.iter().find_map(|&place| {
            view.slot_of = place;
            self.chain[place].as_metadata()?.value(label, &view)
        })
    }
}
