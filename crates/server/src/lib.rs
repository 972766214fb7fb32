//! The server: listeners, blocks, the walk of a query, reload and shutdown.
//!
//! ```text
//! Corefile ─config─→ Config (services per address, blocks, routes, tasks)
//! packet → worker or TCP connection → Service (zone, view) → Block → walk ↓ ↑ → packet
//! ```
//!
//! The crate knows no plugin by name. [`plugin`](Plugin) is the plugin contract, [`visit`](Visit) a plugin's view of a
//! query, and `walk.rs` drives a query through the chain.

pub mod config;
pub mod http;
mod listen;
pub mod log;
mod plugin;
mod process;
mod walk;

pub use config::setup::{Availability, CorefilePoll, Link, ONCE, Periodic, PluginSpec, Setup, SetupFn};
pub use config::{Address, Config, Input};
pub use listen::permit::{Compact, WAITS_REFUSED, compact_after_waiting, waiting};
pub use listen::proxy_protocol;
pub use listen::proxy_protocol::{ProxyPolicy, ProxyProtocol, SessionLimits};
pub use plugin::offers::{
    BlockFilter, CacheBypass, FirstData, ForwardedExchange, Lifecycle, Metadata, Observer, Offered, Prefetch,
    Ready, SearchPath, Tap,
};
pub use plugin::{Hooks, Plugin, Purpose, Resume, Step, Task, Turn, task};
pub use process::instance::Server;
pub use process::run::{ConfigError, RELOAD_FAILED, RunOptions, run};
pub use process::runtime;
pub use walk::block::{Block, BlockSettings};
pub use walk::client::{Client, Transport};
pub use walk::exchange::{Exchange, ExchangeResult, ExplainedReply, PANICS};
pub use walk::explain;
pub use walk::service::{Service, Timeouts};
pub use walk::stream::{Message, Messages, Part, StreamError};
pub use walk::visit::{MetadataView, Outcome, Sent, Slot, Visit};
pub use walk::{Lookup, LookupResult, NestedWalk, Span, Spans, Walk};
