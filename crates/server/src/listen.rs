//! Listening: sockets, UDP workers, TCP connections, and the limits on what waits behind them.

pub(crate) mod backlog;
pub(crate) mod endpoint;
mod outbox;
pub(crate) mod permit;
pub mod proxy_protocol;
pub(crate) mod tcp;
pub(crate) mod udp;
