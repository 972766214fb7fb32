//! Queries answered outside their batch.

use std::sync::Arc;

use net::{ReplyTo, UdpSocket};

use super::TASK;
use super::parked::QueryFuture;
use crate::listen::permit::Permit;
use crate::walk::exchange::{self, PacketResult};
use crate::walk::{Progress, Walk};
use crate::{Block, Service, runtime};

/// A query with its walk, detached from the worker.
pub(super) struct DeferredQuery {
    pub walk: Box<Walk>,
    pub block: Arc<Block>,
    pub service: Arc<Service>,
    pub socket: Arc<UdpSocket>,
    pub to: ReplyTo,
    /// The reply, if there is one.
    pub out: Vec<u8>,
}

/// A query whose walk has ended, with the result still to be sent.
pub(super) struct FinishedQuery {
    pub query: DeferredQuery,
    pub result: PacketResult,
    /// Released when the reply is sent.
    _permit: Permit,
}

impl DeferredQuery {
    pub async fn finish(mut self, progress: Progress, permit: Permit) -> FinishedQuery {
        let DeferredQuery { walk, block, service, out, .. } = &mut self;
        let result = exchange::complete(service, walk, progress, block, out).await;
        FinishedQuery { query: self, result, _permit: permit }
    }

    pub fn send(&self, bytes: &[u8]) {
        match &self.service.backlog {
            Some(backlog) => backlog.send(&self.socket, bytes, &self.to),
            None => {
                let _ = self.socket.send_to(bytes, &self.to);
            }
        }
    }
}

impl FinishedQuery {
    /// Completes a query on tokio and sends its reply from there.
    pub fn move_to_tokio(future: QueryFuture<FinishedQuery>) {
        runtime::handle().spawn(supervise::step_async(TASK, async { future.await.deliver() }));
    }

    /// Sends the reply without a batch.
    pub fn deliver(self) {
        let FinishedQuery { query, result, _permit } = self;
        if matches!(result, PacketResult::Reply) {
            query.send(&query.out);
        }
    }
}
