//! Listening: transports and their sockets, UDP workers, TCP connections, and the limits on what waits behind them.

pub(crate) mod backlog;
mod dns;
pub(crate) mod endpoint;
mod outbox;
pub(crate) mod permit;
pub mod proxy_protocol;
pub(crate) mod tcp;
pub(crate) mod transport;
pub(crate) mod udp;
