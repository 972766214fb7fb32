//! The server: listeners, blocks, the walk of a query, reload and shutdown.
//!
//! ```text
//! Corefile ─config─→ Config (services per address, blocks, routes, tasks)
//! packet → worker or TCP connection → Service (zone, view) → Block → walk ↓ ↑ → packet
//! ```
//!
//! The crate knows no plugin by name. [`plugin`](Plugin) is the plugin contract, [`visit`](Visit) a plugin's view of a
//! query, and `walk.rs` drives a query through the chain.

mod backlog;
pub mod block;
mod client;
pub mod config;
mod endpoint;
pub mod exchange;
pub mod explain;
mod fingerprint;
pub mod http;
mod instance;
pub mod log;
mod permit;
mod plugin;
pub mod proxy_protocol;
mod run;
pub mod runtime;
mod service;
mod setup;
mod tcp;
mod udp;
mod values;
mod visit;
mod walk;

pub use block::{Block, BlockSettings};
pub use client::{Client, Transport};
pub use config::{Address, Config, Input};
pub use exchange::{Exchange, ExchangeResult, ExplainedReply, PANICS};
pub use instance::Server;
pub use permit::{Compact, WAITS_REFUSED, compact_after_waiting, waiting};
pub use plugin::{
    BlockFilter, CacheBypass, Existence, ExternalEndpoint, ExternalServices, ExternalTarget, FirstData,
    ForwardedExchange, Hooks, Messages, Metadata, Observer, Plugin, Prefetch, Ready, Resume, SearchPath,
    Step, Tap, Task, Turn, task,
};
pub use proxy_protocol::{ProxyPolicy, ProxyProtocol, SessionLimits};
pub use run::{ConfigError, RELOAD_FAILED, RunOptions, run};
pub use service::{Service, Timeouts};
pub use setup::{Availability, CorefilePoll, Link, ONCE, Periodic, PluginSpec, Setup, SetupFn};
pub use visit::{MetadataView, Outcome, Sent, Slot, Visit};
pub use walk::{Lookup, LookupResult, NestedWalk, Span, Spans, Walk};
