//! Linux sockets in batches, for a server that answers datagrams. It knows nothing of DNS.
//!
//! One worker thread waits in a [`Reactor`], takes up to a batch of datagrams with one `recvmmsg`
//! ([`RecvBatch`]), writes the replies into a [`SendBatch`] and sends them with one `sendmmsg`. All memory is
//! allocated when the batches are made; after that neither direction touches the heap. What cannot be answered
//! at once keeps its [`ReplyTo`] and is answered later, from any thread, with [`UdpSocket::send_to`].
//!
//! ```text
//! Reactor::wait ─→ RecvBatch::recv ─→ packet(i) ─→ SendBatch::buffer, commit ─→ SendBatch::send
//!                                        └─ ReplyTo ─→ (another thread) ─→ UdpSocket::send_to
//! ```
//!
//! The thread of a worker is a [`Reactor`]: others may have sockets of their own there, a DNS client for one, and
//! are told when these are ready. Such a [`Handler`] sends to a connected peer through an [`Outbox`].
//!
//! This is the one crate allowed `unsafe`. All of it is in `sys`, one small function per system call.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

#[cfg(not(target_os = "linux"))]
compile_error!("this crate speaks to the Linux kernel only");

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
pub use memory::give_back_memory;
pub use outbox::Outbox;
pub use reactor::{Handler, Reactor, Registration, wait_here, yield_here};
pub use recv::{Received, RecvBatch};
pub use reply_to::ReplyTo;
pub use send::{SendBatch, SendReport};
pub use tcp::listen_tcp;
pub use udp::{UdpOptions, UdpSocket, ipv6_unavailable, report_icmp_errors};
pub use waker::Waker;
