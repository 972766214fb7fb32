//! TLS: certificates and keys as snapshots that reload, acceptors for servers and connectors for clients.
//!
//! ```text
//! files ──ServerSettings──→ Acceptor (checks for changes, keeps the last good pair) ──→ rustls::ServerConfig
//! files ──load_tls────────→ Shared (one per contents in the process) ─────────────────→ rustls::ClientConfig
//! ```

#![forbid(unsafe_code)]

mod acceptor;
mod client_auth;
mod connector;
mod error;
mod roots;
mod san;
mod server;
mod shared;
mod verifier;

pub use acceptor::Acceptor;
pub use client_auth::{Authorities, ClientAuth};
pub use connector::{load_tls, server_name, tls_config};
pub use error::{HandshakeError, alert};
pub use rustls;
pub use server::ServerSettings;
