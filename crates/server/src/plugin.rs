//! The plugin contract: what a plugin may do with a query on its way down and with the reply on its way up.
//!
//! A plugin is a value shared by all workers and keeps no state of a single query in itself: that goes into its
//! [`Slot`](crate::Slot). It never blocks: to wait it returns `Wait` with a future, and the walk resumes with the
//! future's result.

mod external;

use std::borrow::Cow;
use std::future::Future;
use std::net::SocketAddr;
use std::ops::BitOr;
use std::pin::Pin;
use std::time::SystemTime;

use futures_util::FutureExt;
use wire::{Name, Query, Rcode, Reply};

use crate::{Client, Messages, Sent, Visit};

pub use external::{Existence, ExternalEndpoint, ExternalServices, ExternalTarget};

/// One plugin of a server block.
pub trait Plugin: Send + Sync + 'static {
    /// The directive's name, as in the Corefile and in the `plugin` label of metrics.
    fn name(&self) -> &'static str;

    /// The methods below that the server has to call. Read once, at setup.
    fn hooks(&self) -> Hooks {
        Hooks::QUERY
    }

    /// Handles the query on its way down.
    fn query(&self, _visit: &mut Visit<'_>) -> Step {
        Step::Next
    }

    /// Handles the reply on its way up, if the query passed this plugin and the hooks include this kind of reply.
    fn reply(&self, _visit: &mut Visit<'_>) -> Turn {
        Turn::Up
    }

    /// Signs the packet, after truncation: the last change of its bytes. [`Visit::reserve`] keeps room for it.
    fn sign(&self, _sent: &mut Sent<'_>, _packet: &mut Vec<u8>) {}

    /// Observes the final bytes just before they are sent.
    fn sent(&self, _sent: &mut Sent<'_>, _packet: &[u8]) {}

    /// Reports readiness to the `ready` plugin.
    fn as_ready(&self) -> Option<&dyn Ready> {
        None
    }

    /// Provides metadata values by label.
    fn as_metadata(&self) -> Option<&dyn Metadata> {
        None
    }

    /// Observes the queries that no block accepted.
    fn as_observer(&self) -> Option<&dyn Observer> {
        None
    }

    /// Decides whether this block accepts a query.
    fn as_filter(&self) -> Option<&dyn BlockFilter> {
        None
    }

    /// Exempts queries of its block from caching.
    fn as_cache_bypass(&self) -> Option<&dyn CacheBypass> {
        None
    }

    /// Provides the search domains of clients.
    fn as_search_path(&self) -> Option<&dyn SearchPath> {
        None
    }

    /// Provides the external addresses of a cluster's Services.
    fn as_external_services(&self) -> Option<&dyn ExternalServices> {
        None
    }

    /// Prefetches index entries for a batch of queries.
    fn as_prefetch(&self) -> Option<&dyn Prefetch> {
        None
    }

    /// Records exchanges with upstreams.
    fn as_tap(&self) -> Option<&dyn Tap> {
        None
    }

    /// Whether the plugin records spans of queries; only blocks with such a plugin pay for them.
    fn traces(&self) -> bool {
        false
    }

    /// Whether the block accepts queries of classes other than IN because of this plugin.
    fn opens_classes(&self) -> bool {
        false
    }

    /// Whether the plugin returns the rcode of its reply to the plugins above, which then take REFUSED, FORMERR and
    /// NOTIMP for "no reply": CoreDNS's convention, which few of its plugins follow after they have replied.
    fn returns_codes(&self) -> bool {
        false
    }

    /// Called when all plugins of all blocks exist, so that this one can keep references to those it works with.
    fn link(&self, _link: &crate::Link<'_>) {}

    /// Starts watching the plugin's data sources, such as a cluster, and may wait for the first data. Called when
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

/// The result of a plugin's `query`.
pub enum Step {
    /// Continue with the next plugin.
    Next,
    /// The reply is filled in.
    Answer,
    /// The query failed. Nothing is written yet; plugins on the way up may still answer.
    Fail { rcode: Rcode, error: Option<Cow<'static, str>> },
    /// The client gets nothing.
    Drop,
    /// The plugin waits for a task.
    Wait(Task<Step>),
    /// The reply is a series of messages, such as a zone transfer.
    Stream(Box<dyn Messages>),
}

impl Step {
    /// A failure without a text for the log.
    pub fn fail(rcode: Rcode) -> Step {
        Step::Fail { rcode, error: None }
    }

    /// A failure with its reason.
    pub fn error(rcode: Rcode, error: impl Into<Cow<'static, str>>) -> Step {
        Step::Fail { rcode, error: Some(error.into()) }
    }
}

/// The result of a plugin's `reply`.
pub enum Turn {
    /// Continue with the plugin above.
    Up,
    /// Walk down again from the next plugin: this one changed the question.
    Again,
    /// The plugin waits for a task.
    Wait(Task<Turn>),
}

/// Asynchronous work of a plugin. It owns its inputs and yields a closure, which applies the result to the walk when
/// the walk resumes.
pub type Task<T> = Pin<Box<dyn Future<Output = Resume<T>> + Send>>;

/// The closure that a [`Task`] yields.
pub type Resume<T> = Box<dyn FnOnce(&mut Visit<'_>) -> T + Send>;

/// Makes a task from a future and a closure that handles its result.
pub fn task<F, T>(future: F, then: impl FnOnce(F::Output, &mut Visit<'_>) -> T + Send + 'static) -> Task<T>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    T: 'static,
{
    // An async block would store the future twice: as a capture and where it is awaited.
    Box::pin(future.map(|output| Box::new(move |visit: &mut Visit<'_>| then(output, visit)) as Resume<T>))
}

/// The set of a plugin's methods that the server calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hooks(u8);

impl Hooks {
    pub const NONE: Hooks = Hooks(0);
    /// `query`.
    pub const QUERY: Hooks = Hooks(1);
    /// `reply`, when there are records (or an empty answer).
    pub const RECORDS: Hooks = Hooks(2);
    /// `reply`, when the query failed below.
    pub const FAILURE: Hooks = Hooks(4);
    /// `reply`, when the query was dropped below.
    pub const DROP: Hooks = Hooks(8);
    /// `sent`.
    pub const SENT: Hooks = Hooks(16);
    /// `reply` and `sent` also for the messages of a stream before its last one; `sign` always.
    pub const PARTS: Hooks = Hooks(32);
    /// `sign`.
    pub const SIGN: Hooks = Hooks(64);
    /// `reply`, for every outcome.
    pub const ANY_REPLY: Hooks = Hooks(2 | 4 | 8);

    pub const fn has(self, other: Hooks) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Hooks {
    type Output = Hooks;

    fn bitor(self, other: Hooks) -> Hooks {
        Hooks(self.0 | other.0)
    }
}

/// A plugin that may not be ready to serve.
pub trait Ready {
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
pub trait Metadata {
    /// The value of a label such as `forward/upstream`, if this plugin provides it and has it.
    fn value(&self, label: &str, view: &crate::MetadataView<'_>) -> Option<String>;
}

/// A plugin that also sees queries that never entered a chain.
pub trait Observer {
    /// The server itself replied: no block serves the class or the name, the packet was invalid, or a plugin panicked.
    fn refused(&self, server: &str, query: &Query, client: &Client, reply: &Reply);
}

/// A plugin that finds the index entries of an answer by the bytes of a query. Called when a batch has several queries,
/// so that their cache misses overlap. A query it does not recognize is only not prefetched.
pub trait Prefetch {
    fn prefetch(&self, queries: &mut dyn Iterator<Item = &[u8]>);
}

/// A plugin whose answers change from one query to the next, as those of a zone with dynamic updates do.
pub trait CacheBypass {
    /// Whether the answer to this query must neither be read from a cache nor stored in one.
    fn bypasses_cache(&self, query: &Query) -> bool;
}

/// A plugin that knows the search path of clients: the domains their resolvers append to a short name.
pub trait SearchPath {
    /// Calls `each` with the search domains of this client for this name (in lower case): in order, in lower case,
    /// the root last, until `each` returns false. Not called at all if the client's search path is unknown.
    fn search_path(&self, name: Name<'_>, client: &Client, each: &mut dyn FnMut(Name<'_>) -> bool);
}

/// A plugin that records exchanges with upstreams. Plugins that forward find it in `link`.
pub trait Tap {
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
pub trait BlockFilter {
    fn view_name(&self) -> &str;
    fn accepts(&self, query: &Query, client: &Client, metadata: &dyn Fn(&str) -> Option<String>) -> bool;
}
