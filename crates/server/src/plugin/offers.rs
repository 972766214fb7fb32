//! What plugins offer at setup, to the server and to each other: traits, and the registry of a block's offers by type.
//!
//! The server asks for the traits of this file. Plugins may define further ones and ask for those of others: an offer is
//! found by its type alone, so that neither side knows the other.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use wire::{Name, Query, Reply};

use crate::{Client, Visit};

/// The life of a plugin around its queries; the methods are called in this order. A panic in one costs that call.
pub trait Lifecycle: Send + Sync {
    /// Starts watching the plugin's data sources, such as an API server, and may wait for the first data. Called when
    /// a configuration is to serve or to explain, never when it is only checked. An error rejects the configuration.
    fn prepare(&self) -> Result<(), String> {
        Ok(())
    }

    /// Called when the configuration is about to serve; its sockets are bound.
    fn start(&self) {}

    /// Called when the configuration serves: the process has started, or a reload is complete but for this. May block.
    fn serving(&self) {}

    /// Called when the process receives a signal to stop; it serves on until this returns and the lameduck time is over.
    fn leaving(&self) {}

    /// Called when the configuration serves no longer.
    fn stop(&self) {}
}

/// A plugin that may not be ready to serve.
pub trait Ready: Send + Sync {
    fn ready(&self) -> bool;

    /// Why it is not ready, if that is not only that its first data are missing.
    fn why_not(&self) -> Option<String> {
        None
    }

    /// The state of its first data.
    fn first_data(&self) -> FirstData {
        FirstData::Complete
    }
}

/// The state of the data a plugin needs before it can tell "does not exist" from "not loaded yet".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FirstData {
    Complete,
    /// Its source reports errors; it is retried, but waiting may be in vain.
    Failing,
    Pending,
}

/// A plugin that provides metadata about a query, computed on demand.
pub trait Metadata: Send + Sync {
    /// The value of a label such as `forward/upstream`, if this plugin provides it and has it.
    fn value(&self, label: &str, view: &crate::MetadataView<'_>) -> Option<String>;
}

/// A plugin that also sees queries that never entered a chain.
pub trait Observer: Send + Sync {
    /// The server itself replied: no block serves the class or the name, the packet was invalid, or a plugin panicked.
    fn refused(&self, server: &str, query: &Query, client: &Client, reply: &Reply);
}

/// A plugin that finds the index entries of an answer by the bytes of a query. Called when a batch has several queries,
/// so that their cache misses overlap. A query it does not recognize is only not prefetched.
pub trait Prefetch: Send + Sync {
    fn prefetch(&self, queries: &mut dyn Iterator<Item = &[u8]>);
}

/// A plugin whose answers change from one query to the next, as those of a zone with dynamic updates do.
pub trait CacheBypass: Send + Sync {
    /// Whether the answer to this query must neither be read from a cache nor stored in one.
    fn bypasses_cache(&self, query: &Query) -> bool;
}

/// A plugin that knows the search path of clients: the domains their resolvers append to a short name.
pub trait SearchPath: Send + Sync {
    /// Calls `each` with the search domains of this client for this name (in lower case): in order, in lower case,
    /// the root last, until `each` returns false. Not called at all if the client's search path is unknown.
    fn search_path(&self, name: Name<'_>, client: &Client, each: &mut dyn FnMut(Name<'_>) -> bool);
}

/// A plugin that records exchanges with upstreams. Plugins that forward ask for it in the second phase of setup.
pub trait Tap: Send + Sync {
    /// Records an exchange made for the visited query.
    fn forwarded(&self, exchange: &ForwardedExchange<'_>, visit: &Visit<'_>);
}

/// One exchange with an upstream.
#[derive(Clone, Copy, Debug)]
pub struct ForwardedExchange<'a> {
    pub upstream: SocketAddr,
    /// The local address, if a connection was made.
    pub local: Option<SocketAddr>,
    pub transport: crate::Transport,
    /// When the first upstream was queried for this query.
    pub began: SystemTime,
    pub query: &'a [u8],
    /// The reply and when it arrived; None if the upstream did not answer.
    pub reply: Option<(&'a [u8], SystemTime)>,
}

/// A plugin that decides which queries its block accepts.
pub trait BlockFilter: Send + Sync {
    fn view_name(&self) -> &str;
    fn accepts(&self, query: &Query, client: &Client, metadata: &dyn Fn(&str) -> Option<String>) -> bool;
}

/// One offer, and who made it.
#[derive(Debug)]
pub struct Offered<T: ?Sized> {
    /// The name of the plugin.
    pub plugin: &'static str,
    /// The plugin's position in the chain; None if it is not in the chain.
    pub position: Option<usize>,
    pub value: Arc<T>,
}

/// The offers of one block.
#[derive(Default)]
pub(crate) struct Offers(Vec<Offer>);

struct Offer {
    plugin: &'static str,
    position: Option<usize>,
    /// An `Arc<T>`; its type is the key.
    value: Box<dyn Any + Send + Sync>,
}

impl Offers {
    pub fn add<T: ?Sized + Send + Sync + 'static>(
        &mut self,
        plugin: &'static str,
        position: Option<usize>,
        value: Arc<T>,
    ) {
        self.0.push(Offer { plugin, position, value: Box::new(value) });
    }

    /// The offers of one type in the order of the chain; those of plugins outside it are last.
    pub fn all<T: ?Sized + Send + Sync + 'static>(&self) -> Vec<Offered<T>> {
        let offered = |offer: &Offer| {
            let value = offer.value.downcast_ref::<Arc<T>>()?.clone();
            Some(Offered { plugin: offer.plugin, position: offer.position, value })
        };
        let mut all: Vec<Offered<T>> = self.0.iter().filter_map(offered).collect();
        all.sort_by_key(|offered| offered.position.unwrap_or(usize::MAX));
        all
    }
}
