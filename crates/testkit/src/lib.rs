//! Test support: starts real servers, generates queries and compares replies.
//!
//! - [`peers`] finds (or builds) the real CoreDNS, etcd, kube-apiserver and others;
//!   [`process`] runs them, [`ports`] reserves ports, [`network`] makes network namespaces.
//! - [`dns_server`] starts CoreDNS or Rhumb from a Corefile, [`verdict`] checks whether they accept it; [`cluster`]
//!   starts a Kubernetes API server, [`authority`] Knot DNS or BIND.
//! - [`query`] generates queries from a seed, [`client`] sends them, [`compare`] compares the replies of two servers
//!   and [`logs`] their query logs.
//! - [`scripted_upstream`], [`scripted_api`] and [`http_receiver`] are fake peers of a server.
//! - [`alloc`] counts allocations, [`dnsperf`] measures throughput, [`certificate`] issues TLS certificates, [`mmdb`]
//!   writes GeoIP databases.
//!
//! All servers listen on loopback and are stopped by their process id.

pub mod alloc;
pub mod authority;
pub mod certificate;
pub mod client;
pub mod cluster;
pub mod compare;
pub mod dns_server;
pub mod dnsperf;
pub mod error;
pub mod http_receiver;
pub mod logs;
pub mod message;
pub mod mmdb;
mod mnemonic;
pub mod name;
pub mod network;
pub mod peers;
pub mod ports;
pub mod process;
pub mod query;
pub mod random;
pub mod rhumb;
pub mod scripted_api;
pub mod scripted_upstream;
pub mod verdict;

pub use dns_server::{DnsServer, Kind};
pub use error::{Error, Result};
