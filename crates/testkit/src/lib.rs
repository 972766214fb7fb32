//! What tests and benches stand on: the real servers, a source of questions, and a judge of answers.
//!
//! - [`peers`] finds (or builds) the real CoreDNS, etcd, kube-apiserver and others;
//!   [`process`] runs them, [`ports`] gives them addresses, [`network`] puts them apart.
//! - [`dns_server`] starts CoreDNS or Rhumb from a Corefile, [`verdict`] tells whether they take it; [`cluster`]
//!   starts a Kubernetes API.
//! - [`query`] makes questions from a seed, [`client`] asks them, [`compare`] tells two servers apart
//!   by their answers and [`logs`] by their query logs.
//! - [`scripted_upstream`], [`scripted_api`] and [`http_receiver`] are fakes of what a server talks to.
//! - [`alloc`] counts allocations, [`dnsperf`] measures throughput, [`certificate`] makes TLS possible, [`mmdb`] makes
//!   databases of places.
//!
//! Everything listens on loopback, and whatever is started is stopped by its process id.

pub mod alloc;
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
