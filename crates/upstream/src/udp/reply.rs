//! The future of a reply, valid on the thread that sent the query.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::exchanges::{ExchangeEnd, Polled};
use super::slots::Key;
use super::{Client, SocketRef};
use crate::error::{Cause, Op};

/// The result of a query.
pub(crate) enum UdpReply {
    /// A reply with the query's id, not checked any further.
    Packet(Vec<u8>, SocketRef),
    Failed(Op, Cause, SocketRef),
    /// The query cannot be completed on this thread.
    Unavailable,
}

impl UdpReply {
    pub(super) fn new(end: ExchangeEnd, socket: SocketRef) -> UdpReply {
        match end {
            ExchangeEnd::Packet(bytes) => UdpReply::Packet(bytes, socket),
            ExchangeEnd::TimedOut => UdpReply::Failed(Op::Read, Cause::Timeout, socket),
            ExchangeEnd::ReadFailed(error) => {
                UdpReply::Failed(Op::Read, Cause::system("read", &error), socket)
            }
            ExchangeEnd::SendFailed(error) => {
                UdpReply::Failed(Op::Write, Cause::system("write", &error), socket)
            }
            ExchangeEnd::Unsent => UdpReply::Unavailable,
        }
    }
}

/// The future of the reply to a query.
pub(crate) struct ReplyFuture {
    client: u64,
    exchange: Key,
    done: bool,
}

impl ReplyFuture {
    pub(super) fn new(client: u64, exchange: Key) -> ReplyFuture {
        ReplyFuture { client, exchange, done: false }
    }

    fn client(&self) -> Option<Rc<Client>> {
        Client::get().filter(|client| client.id == self.client)
    }
}

impl Future for ReplyFuture {
    type Output = UdpReply;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<UdpReply> {
        let Some(client) = self.client() else { return Poll::Ready(UdpReply::Unavailable) };
        let polled = client.traffic.borrow_mut().exchanges.poll(self.exchange, context.waker());
        let (end, socket) = match polled {
            Polled::Pending => {
                net::mark_local_wait();
                return Poll::Pending;
            }
            Polled::Ended(end, socket) => (end, socket),
            Polled::Unknown => return Poll::Ready(UdpReply::Unavailable),
        };
        self.done = true;
        Poll::Ready(UdpReply::new(end, socket))
    }
}

impl Drop for ReplyFuture {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if let Some(client) = self.client() {
            let traffic = &mut *client.traffic.borrow_mut();
            if let Some(socket) = traffic.exchanges.abandon(self.exchange) {
                traffic.discard(self.exchange, socket, Instant::now());
            }
        }
    }
}
