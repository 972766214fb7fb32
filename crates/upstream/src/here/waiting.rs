//! The future of one query, for as long as it stays on its thread.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::exchanges::{End, Polled};
use super::slots::Key;
use super::{Client, Way};
use crate::error::{Cause, Op};

/// What came of a query.
pub(crate) enum Landed {
    /// A reply under the query's id; what else it is, is to be seen.
    Packet(Vec<u8>, Way),
    Failed(Op, Cause, Way),
    /// It cannot be done here.
    Elsewhere,
}

/// A query under way.
pub(crate) struct Waiting {
    client: u64,
    exchange: Key,
    landed: bool,
}

impl Waiting {
    pub(super) fn new(client: u64, exchange: Key) -> Waiting {
        Waiting { client, exchange, landed: false }
    }

    fn client(&self) -> Option<Rc<Client>> {
        Client::known().filter(|client| client.number == self.client)
    }
}

impl Future for Waiting {
    type Output = Landed;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Landed> {
        let Some(client) = self.client() else { return Poll::Ready(Landed::Elsewhere) };
        let polled = client.traffic.borrow_mut().exchanges.poll(self.exchange, context.waker());
        let (end, way) = match polled {
            Polled::Waits => {
                net::mark_local_wait();
                return Poll::Pending;
            }
            Polled::Ended(end, way) => (end, way),
            Polled::Unknown => return Poll::Ready(Landed::Elsewhere),
        };
        self.landed = true;
        Poll::Ready(match end {
            End::Packet(bytes) => Landed::Packet(bytes, way),
            End::TimedOut => Landed::Failed(Op::Read, Cause::Timeout, way),
            End::NotRead(error) => Landed::Failed(Op::Read, Cause::system("read", &error), way),
            End::NotSent(error) => Landed::Failed(Op::Write, Cause::system("write", &error), way),
            End::NoRoom => Landed::Elsewhere,
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.landed {
            return;
        }
        if let Some(client) = self.client() {
            let traffic = &mut *client.traffic.borrow_mut();
            if let Some(socket) = traffic.exchanges.abandon(self.exchange) {
                traffic.leave(self.exchange, socket, Instant::now());
            }
        }
    }
}
