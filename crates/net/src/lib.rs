//! Linux sockets in batches, for a server that answers datagrams. The crate knows nothing of DNS.
//!
//! A worker thread waits in a [`Reactor`], receives a batch of datagrams with one `recvmmsg` ([`RecvBatch`]), writes the
//! replies into a [`SendBatch`] and sends them with one `sendmmsg`. The batches allocate all memory when they are created.
//! A reply that takes longer is sent later, from any thread, to the datagram's [`ReplyTo`] with [`UdpSocket::send_to`].
//!
//! ```text
//! Reactor::wait ─→ RecvBatch::recv ─→ packet(i) ─→ SendBatch::buffer, commit ─→ SendBatch::send
//!                                        └─ ReplyTo ─→ (another thread) ─→ UdpSocket::send_to
//! ```
//!
//! A [`Handler`], such as a DNS client, can register its own sockets with the worker's [`Reactor`], which calls it when they
//! are ready. It sends to a connected peer through an [`Outbox`].
//!
//! This is the one crate allowed `unsafe`. All of it is in `sys`, one small function per system call.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

#[cfg(not(target_os = "linux"))]
compile_error!("this crate requires Linux");

mod address;
mod control;
mod counters;
pub mod cpu;
mod epoll;
mod interface;
mod limit;
mod memory;
mod outbox;
mod poll;
mod reactor;
mod recv;
mod reply_to;
mod send;
mod sys;
mod tcp;
mod udp;
mod waker;

pub use counters::{UdpCounters, udp_counters};
pub use epoll::{Epoll, Events};
pub use interface::{Interface, interfaces};
pub use limit::raise_file_limit;
pub use memory::trim_heap;
pub use outbox::Outbox;
pub use reactor::{Handler, Reactor, Registration, mark_local_wait, yield_local};
pub use recv::{Datagram, RecvBatch};
pub use reply_to::ReplyTo;
pub use send::{SendBatch, SendReport};
pub use tcp::listen_tcp;
pub use udp::{UdpOptions, UdpSocket, ipv6_unavailable, report_icmp_errors};
pub use waker::Waker;
