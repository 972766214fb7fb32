//! The server: listeners, blocks, the walk of a query, reload and shutdown.
//!
//! ```text
//! Corefile ─config─→ Config (services per address, blocks, routes, tasks)
//! packet → worker or TCP connection → Service (zone, view) → Block → walk ↓ ↑ → packet
//! ```
//!
//! The crate knows no plugin by name. What plugins may do is in [`plugin`](Plugin), what they see in
//! [`visit`](Visit), how a query goes through them in `walk.rs`.

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
mod kept;
pub mod log;
mod permit;
mod plugin;
pub mod proxied;
mod run;
pub mod runtime;
mod service;
mod setup;
mod tcp;
mod udp;
mod visit;
mod walk;

pub use block::{Block, BlockSettings};
pub use client::{Client, Transport};
pub use config::{Address, Config, Input};
pub use exchange::{Answered, Exchange, PANICS, Replied};
pub use instance::Server;
pub use permit::{Compact, REFUSED_TO_WAIT, compact_after_waiting, waiting};
pub use plugin::{
    BlockFilter, CacheBypass, Existence, FirstData, Foresight, Forwarded, Hooks, Messages, Metadata,
    Observer, Outside, Place, Plugin, Reached, Ready, Resume, SearchPath, Step, Tap, Task, Turn, task,
};
pub use proxied::{Proxied, ProxyPolicy, SessionLimits};
pub use run::{RELOAD_FAILED, Refusal, RunOptions, run};
pub use service::{Service, Timeouts};
pub use setup::{Availability, CorefilePoll, Link, ONCE, Periodic, PluginSpec, Setup, SetupFn};
pub use visit::{MetadataView, Outcome, Sent, Slot, Visit};
pub use walk::{Below, Found, Lookup, Span, Spans, Walk};
