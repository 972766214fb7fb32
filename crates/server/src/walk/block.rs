//! A server block: its chain of plugins, their hooks and the block's settings.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Family};
use wire::NameBuf;

use crate::plugin::offers::{Offered, Offers};
use crate::walk::visit::MetadataView;
use crate::{BlockFilter, Hooks, Metadata, Plugin, ProxyProtocol};

/// One server block. All its keys share the same plugins.
pub struct Block {
    chain: Vec<Arc<dyn Plugin>>,
    offers: Offers,
    /// One bit per plugin, by the position in the chain.
    pub(crate) wants_query: u64,
    pub(crate) wants_records: u64,
    pub(crate) wants_failure: u64,
    pub(crate) wants_drop: u64,
    pub(crate) wants_sent: u64,
    pub(crate) wants_sign: u64,
    pub(crate) wants_parts: u64,
    filters: Vec<Arc<dyn BlockFilter>>,
    /// With the position of the plugin, for its slot.
    metadata: Vec<(usize, Arc<dyn Metadata>)>,
    pub(crate) settings: BlockSettings,
}

/// The settings of a block that its directives make.
#[derive(Clone, Debug, Default)]
pub struct BlockSettings {
    /// Zones for which metadata is collected; None without the `metadata` directive.
    pub metadata_zones: Option<Vec<NameBuf>>,
    /// A plugin records spans of queries; other blocks do not pay for them.
    pub traced: bool,
    /// A plugin accepts queries of classes other than IN.
    pub any_class: bool,
    pub debug: bool,
    pub stacktrace: bool,
    pub read_timeout: Option<Duration>,
    pub write_timeout: Option<Duration>,
    pub idle_timeout: Option<Duration>,
    /// -1 is no limit.
    pub max_tcp_queries: Option<i64>,
    /// Sockets per address; None is the server's default.
    pub sockets: Option<usize>,
    /// Replies that do not fit into a socket's send buffer are queued instead of waited for; those still lost are
    /// counted here, by server and `response`.
    pub lost_replies: Option<Arc<Family<Counter>>>,
    /// Clients connect through proxies that speak the PROXY protocol.
    pub proxy_protocol: Option<ProxyProtocol>,
}

/// The masks have one bit per plugin; setup rejects longer chains.
pub(crate) const MAX_CHAIN: usize = 64;

impl Block {
    pub(crate) fn new(chain: Vec<Arc<dyn Plugin>>, offers: Offers, settings: BlockSettings) -> Block {
        assert!(chain.len() <= MAX_CHAIN, "a chain has at most {MAX_CHAIN} plugins");
        let mask = |hook: Hooks| {
            chain
                .iter()
                .enumerate()
                .filter(|(_, p)| p.hooks().has(hook))
                .fold(0u64, |mask, (i, _)| mask | 1 << i)
        };
        let metadata = offers.all::<dyn Metadata>().into_iter();
        Block {
            wants_query: mask(Hooks::QUERY),
            wants_records: mask(Hooks::RECORDS),
            wants_failure: mask(Hooks::FAILURE),
            wants_drop: mask(Hooks::DROP),
            wants_sent: mask(Hooks::SENT),
            wants_sign: mask(Hooks::SIGN),
            wants_parts: mask(Hooks::PARTS),
            filters: offers.all().into_iter().map(|offered| offered.value).collect(),
            // A plugin outside the chain has no slot.
            metadata: metadata.map(|it| (it.position.unwrap_or(usize::MAX), it.value)).collect(),
            settings,
            offers,
            chain,
        }
    }

    /// The plugins in the order a query passes them.
    pub fn chain(&self) -> &[Arc<dyn Plugin>] {
        &self.chain
    }

    /// What the plugins of the block offer, in the order of the chain.
    pub fn offers<T: ?Sized + Send + Sync + 'static>(&self) -> Vec<Offered<T>> {
        self.offers.all()
    }

    /// The name of the block's view, if it has one.
    pub fn view_name(&self) -> Option<&str> {
        self.filters.first().map(|filter| filter.view_name())
    }

    pub(crate) fn is_filtered(&self) -> bool {
        !self.filters.is_empty()
    }

    /// Whether the block accepts this query; without a view it always does.
    pub(crate) fn accepts(
        &self,
        query: &wire::Query,
        client: &crate::Client,
        view: &dyn Fn(&str) -> Option<String>,
    ) -> bool {
        self.filters.iter().all(|filter| filter.accepts(query, client, view))
    }

    /// The value of a label, if this block collects metadata for the query's name and a plugin provides it.
    pub(crate) fn metadata(&self, label: &str, mut view: MetadataView<'_>) -> Option<String> {
        let zones = self.settings.metadata_zones.as_ref()?;
        let name = view.query.question.lower();
        if !zones.iter().any(|zone| name.is_under(zone.as_name())) {
            return None;
        }
        self.metadata.iter().find_map(|(position, provider)| {
            view.provider = *position;
            provider.value(label, &view)
        })
    }
}
