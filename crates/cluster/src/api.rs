//! The Kubernetes API: its messages, and the watches of an API server.
//!
//! ```text
//!            follow: lists and watches one kind, for ever
//!    ┌───────────┬───────────┬───────────┬────────────┐
//! access ──→ request ──→ frames ──→ decode ──→ convert ──→ Change
//! client     what is     bytes of   message    slim
//!            asked for   events                objects
//! ```
//!
//! Built-in kinds come as protobuf, which costs a fraction of JSON to read; custom resources exist as JSON only.

mod access;
mod backoff;
pub(crate) mod convert;
mod decode;
mod discover;
mod follow;
mod frames;
pub(crate) mod message;
mod request;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use tokio::task::AbortHandle;

use crate::watch::{Line, News, Shared, WatchError};
use access::Access;
pub(crate) use backoff::Limits;
use follow::Follower;

/// Watches every wanted kind, each in a task of its own.
pub(crate) fn start(
    shared: &Arc<Shared>,
    lines: &[Arc<Line>],
    news: &Sender<News>,
    limits: Limits,
    runtime: &Handle,
) -> Result<Vec<AbortHandle>, WatchError> {
    let access = Arc::new(Access::open(&shared.source)?);
    let follow = |line| Follower::new(&access, shared, line, news, limits).run();
    Ok(lines.iter().map(|line| runtime.spawn(follow(line)).abort_handle()).collect())
}
