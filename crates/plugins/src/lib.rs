//! The plugins. Each has a folder: `mod.rs` (its behaviour), `setup.rs` (its Corefile options), `README.md`
//! (for users) and `tests.rs`. None opens a socket or a watch itself; other crates do that.
//! `order.rs` is the one list that sets the order of plugins in a chain; `options.rs`, `server_counter.rs`, `messages/`
//! and `host_files/` hold what several plugins share.

mod acl;
mod any;
mod autopath;
mod bind;
mod bufsize;
mod cache;
mod cancel;
mod chaos;
mod debug;
mod dns64;
mod dnstap;
mod erratic;
mod errors;
mod federation;
mod forward;
mod geoip;
mod header;
mod health;
mod hosts;
mod k8s_external;
mod kubernetes;
mod loadbalance;
mod local;
mod log;
mod r#loop;
mod metadata;
pub mod migrate;
mod minimal;
mod multisocket;
mod nsid;
mod on;
mod pprof;
mod prometheus;
mod proxyproto;
mod ready;
mod reload;
mod rewrite;
mod root;
mod shed;
mod siit;
mod template;
mod timeouts;
mod trace;
mod view;
mod whoami;

mod host_files;
mod messages;
mod options;
mod order;
mod server_counter;
#[cfg(test)]
mod testing;

pub use kubernetes::Kubeconfig;
pub use order::PLUGINS;
