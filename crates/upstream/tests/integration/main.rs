//! The client against upstreams that misbehave by script, and against TLS and HTTP servers of the test's own.

#![allow(clippy::unwrap_used)]

mod ask;
mod authority;
mod bailiwick;
mod faulty_proxy;
mod health;
mod https;
mod reactor;
mod secure_server;
mod tcp;
mod tls;
mod udp;
mod udp_thread;
mod worker_udp;
