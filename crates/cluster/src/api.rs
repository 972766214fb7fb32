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
//! Built-in kinds come as protobuf, which costs a fraction of JSON to read; custom resources exist as JSON only, and so
//! does everything behind a server or proxy that does not know protobuf. Its Content-Type decides.

mod access;
mod backoff;
mod census;
pub(crate) mod convert;
mod decode;
mod discover;
mod follow;
mod frames;
pub(crate) mod message;
mod request;
mod server_version;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use tokio::task::AbortHandle;

use crate::watch::{Level, Line, News, Shared, WatchError, log};
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
    let access = Arc::new(Access::open(&shared.source, limits)?);
    let follow = |line| Follower::new(&access, shared, line, news, limits).run();
    let mut tasks: Vec<_> = lines.iter().map(|line| runtime.spawn(follow(line)).abort_handle()).collect();
    let host = access.host().to_owned();
    let source = shared.source.to_string();
    tasks.push(runtime.spawn(tell_if_late(source, host, lines.to_vec(), limits)).abort_handle());
    Ok(tasks)
}

/// Says once what is waited for, should the first answer take long. Failures have lines of their own, but the first of
/// them may take half a minute.
async fn tell_if_late(source: String, host: String, lines: Vec<Arc<Line>>, limits: Limits) {
    tokio::time::sleep(limits.first_answer).await;
    let waiting: Vec<_> =
        lines.iter().filter(|line| line.is_unheard()).map(|line| line.kind().plural()).collect();
    if !waiting.is_empty() {
        let kinds = waiting.join(", ");
        let line = format!("{source}: still waiting for a first answer from {host}, for {kinds}");
        log(Level::Warning, &line);
    }
}
