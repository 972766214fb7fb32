//! The plugin contract: what a plugin may do with a query on its way down and with the reply on its way up.
//!
//! A plugin is a value shared by all workers. It keeps nothing about a single query in itself; what it must
//! remember between the two ways goes into its [`Slot`](crate::Slot). It never blocks: whoever needs time
//! returns `Wait` with a future, and the walk goes on with what the future brings.

mod outside;

use std::borrow::Cow;
use std::future::Future;
use std::net::SocketAddr;
use std::ops::BitOr;
use std::pin::Pin;
use std::time::SystemTime;

use futures_util::FutureExt;
use wire::{Name, Query, Rcode, Reply};

use crate::{Client, Sent, Visit};

pub use outside::{Existence, Outside, Place, Reached};

/// One plugin of a server block.
pub trait Plugin: Send + Sync + 'static {
    /// The directive's name, as in the Corefile and in the `plugin` label of metrics.
    fn name(&self) -> &'static str;

    /// Which of the methods below are worth calling. Asked once, at setup.
    fn hooks(&self) -> Hooks {
        Hooks::QUERY
    }

    /// The query on its way down.
    fn query(&self, _visit: &mut Visit<'_>) -> Step {
        Step::Next
    }

    /// The reply on its way up, if the query passed this plugin and its kind is among the hooks.
    fn reply(&self, _visit: &mut Visit<'_>) -> Turn {
        Turn::Up
    }

    /// The final bytes, after truncation, just before they leave.
    fn sent(&self, _sent: &mut Sent<'_>, _packet: &mut Vec<u8>) {}

    /// Tells the `ready` plugin whether this one can serve.
    fn as_ready(&self) -> Option<&dyn Ready> {
        None
    }

    /// Gives values to those who ask for metadata by label.
    fn as_metadata(&self) -> Option<&dyn Metadata> {
        None
    }

    /// Counts the queries that no block took.
    fn as_observer(&self) -> Option<&dyn Observer> {
        None
    }

    /// Decides whether this block takes a query at all.
    fn as_filter(&self) -> Option<&dyn BlockFilter> {
        None
    }

    /// Keeps queries of its block away from caches.
    fn as_cache_bypass(&self) -> Option<&dyn CacheBypass> {
        None
    }

    /// Knows in which domains clients search for names.
    fn as_search_path(&self) -> Option<&dyn SearchPath> {
        None
    }

    /// Knows how names inside a cluster are reached from outside.
    fn as_outside(&self) -> Option<&dyn Outside> {
        None
    }

    /// Fetches what answers will need before they are made.
    fn as_foresight(&self) -> Option<&dyn Foresight> {
        None
    }

    /// Records what passes between us and other servers.
    fn as_tap(&self) -> Option<&dyn Tap> {
        None
    }

    /// Notes the steps of queries, which only blocks with such a plugin pay for.
    fn traces(&self) -> bool {
        false
    }

    /// Lets queries of classes other than IN into the block.
    fn opens_classes(&self) -> bool {
        false
    }

    /// Hands the codes of its replies to the plugins above, to which REFUSED, FORMERR and NOTIMP then mean that there
    /// is no reply: the convention of CoreDNS, which few of its plugins follow after they have replied.
    fn returns_codes(&self) -> bool {
        false
    }

    /// All plugins of all blocks exist now; take hold of the ones this plugin works with.
    fn link(&self, _link: &crate::Link<'_>) {}

    /// Begins to follow what answers are made of, such as a cluster, and may wait for the first of it. Called when
    /// a configuration is to serve or to be asked, never when it is only checked. An error refuses it.
    fn prepare(&self) -> Result<(), String> {
        Ok(())
    }

    /// The configuration is about to serve; its sockets are bound.
    fn start(&self) {}

    /// The configuration serves: the process has started, or a reload is complete but for this. May take its time.
    fn serving(&self) {}

    /// The process was told to stop; it serves on until this returns and the lameduck time is over.
    fn leaving(&self) {}

    /// The configuration serves no longer.
    fn stop(&self) {}
}

/// What a plugin did with a query.
pub enum Step {
    /// Not mine: to the next plugin.
    Next,
    /// The reply is filled in.
    Answer,
    /// No reply could be made. Nothing is written yet; plugins on the way up may still answer.
    Fail { rcode: Rcode, error: Option<Cow<'static, str>> },
    /// The client gets nothing.
    Drop,
    /// The plugin needs time.
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

/// What a plugin did with a reply.
pub enum Turn {
    /// On to the plugin above.
    Up,
    /// Ask those below me again; I changed the question.
    Again,
    /// The plugin needs time.
    Wait(Task<Turn>),
}

/// Work that takes time. It owns what it needs; what it finds out is brought into the walk by the closure it
/// yields, which runs when the walk is back in hand.
pub type Task<T> = Pin<Box<dyn Future<Output = Resume<T>> + Send>>;

/// The end of a [`Task`].
pub type Resume<T> = Box<dyn FnOnce(&mut Visit<'_>) -> T + Send>;

/// Makes a task out of a future and of what to do with its result.
pub fn task<F, T>(future: F, then: impl FnOnce(F::Output, &mut Visit<'_>) -> T + Send + 'static) -> Task<T>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    T: 'static,
{
    // An async block would have room for the future twice: where it was caught, and where it is awaited.
    Box::pin(future.map(|output| Box::new(move |visit: &mut Visit<'_>| then(output, visit)) as Resume<T>))
}

/// A reply in several messages.
pub trait Messages: Send {
    /// Fills the next message into `reply`, which comes as an empty reply to `query`; false at the end.
    fn next(&mut self, query: &Query, reply: &mut Reply) -> bool;
}

/// The methods of a plugin that are to be called.
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
    /// `reply`, whatever came of it.
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

/// A plugin that is not always able to serve.
pub trait Ready {
    fn ready(&self) -> bool;

    /// Why it is not ready, if there is more to say than that it waits for its first data.
    fn why_not(&self) -> Option<String> {
        None
    }

    /// How far its first data are.
    fn first_data(&self) -> FirstData {
        FirstData::Complete
    }
}

/// How far a plugin is with the data it needs before it can tell missing from absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FirstData {
    Complete,
    /// Its source reports errors; it is tried again, but to wait may be in vain.
    Failing,
    Pending,
}

/// A plugin that knows things about a query. Nothing is computed before somebody asks.
pub trait Metadata {
    /// The value behind a label such as `forward/upstream`, if it is this plugin's and known.
    fn value(&self, label: &str, view: &crate::MetadataView<'_>) -> Option<String>;
}

/// A plugin that also sees what never came to any chain.
pub trait Observer {
    /// The server answered by itself: the class, the name or the packet was nobody's, or a plugin panicked.
    fn refused(&self, server: &str, query: &Query, client: &Client, reply: &Reply);
}

/// A plugin that knows by the bytes of a query what its answer needs. It is asked when several came together, so that they
/// need not wait for the same memory one after the other. What it does not recognize costs nothing but the time saved.
pub trait Foresight {
    fn foresee(&self, queries: &mut dyn Iterator<Item = &[u8]>);
}

/// A plugin whose answers change from one query to the next, as those of a zone with dynamic updates do.
pub trait CacheBypass {
    /// Whether the answer to this query must neither come out of a cache nor go into one.
    fn bypasses_cache(&self, query: &Query) -> bool;
}

/// A plugin that knows the search path of clients: the domains their resolvers put behind a short name.
pub trait SearchPath {
    /// Tells `each` the domains in which this client searches when it asks for a name like this one, given in lower
    /// case; in order, in lower case, the root last. Ends early when `each` says false. No domain at all: nobody
    /// knows how the client searches.
    fn search_path(&self, name: Name<'_>, client: &Client, each: &mut dyn FnMut(Name<'_>) -> bool);
}

/// A plugin that records exchanges with other servers. Those who forward find it when they are linked.
pub trait Tap {
    /// A server was asked on behalf of the visited query.
    fn forwarded(&self, exchange: &Forwarded<'_>, visit: &Visit<'_>);
}

/// One exchange with another server.
#[derive(Clone, Copy, Debug)]
pub struct Forwarded<'a> {
    pub upstream: SocketAddr,
    /// Our own address on the way there, if a connection came about.
    pub local: Option<SocketAddr>,
    pub transport: crate::Transport,
    /// When the first server was asked for this query.
    pub began: SystemTime,
    pub query: &'a [u8],
    /// What came back, and when; nothing if the server did not answer.
    pub reply: Option<(&'a [u8], SystemTime)>,
}

/// A plugin that lets only some queries into its block.
pub trait BlockFilter {
    fn view_name(&self) -> &str;
    fn accepts(&self, query: &Query, client: &Client, metadata: &dyn Fn(&str) -> Option<String>) -> bool;
}
