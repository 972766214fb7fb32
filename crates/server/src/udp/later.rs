//! A query that is answered outside its batch.

use std::sync::Arc;

use net::{ReplyTo, UdpSocket};

use super::TASK;
use super::parked::Finishing;
use crate::exchange::{self, Handled};
use crate::permit::Permit;
use crate::walk::{Pending, Walk};
use crate::{Block, Messages, Service, runtime};

pub(super) struct Later {
    pub walk: Box<Walk>,
    pub block: Arc<Block>,
    pub service: Arc<Service>,
    pub socket: Arc<UdpSocket>,
    pub to: ReplyTo,
    /// The reply, if there is one.
    pub out: Vec<u8>,
}

/// A query that has come to its end, with what is left to do for it.
pub(super) struct Finished {
    pub later: Later,
    pub handled: Handled,
    /// Given back when the reply is on its way.
    _permit: Permit,
}

impl Later {
    pub async fn finish(mut self, pending: Pending, permit: Permit) -> Finished {
        let Later { walk, block, service, out, .. } = &mut self;
        let handled = exchange::complete(service, walk, pending, block, out).await;
        Finished { later: self, handled, _permit: permit }
    }

    pub fn send(&self, bytes: &[u8]) {
        match &self.service.backlog {
            Some(backlog) => backlog.send(&self.socket, bytes, &self.to),
            None => {
                let _ = self.socket.send_to(bytes, &self.to);
            }
        }
    }

    pub fn stream(&mut self, mut messages: Box<dyn Messages>) {
        let mut out = Vec::new();
        while self.walk.stream_next(messages.as_mut(), &self.block, &self.service) {
            if self.walk.encode(Some(&self.block), &mut out) {
                self.send(&out);
            }
        }
    }
}

impl Finished {
    /// Waits for a query on tokio, and has its reply leave from there.
    pub fn await_elsewhere(finishing: Finishing<Finished>) {
        runtime::handle().spawn(supervise::step_async(TASK, async { finishing.await.deliver() }));
    }

    /// Has the reply leave at once.
    pub fn deliver(self) {
        let Finished { mut later, handled, _permit } = self;
        match handled {
            Handled::Reply => later.send(&later.out),
            Handled::Streaming(messages, _) => later.stream(messages),
            Handled::Nothing | Handled::Waiting(..) => {}
        }
    }
}
