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

use crate::watch::{Level, Line, LostOnDrop, Shared, Update, WatchError, log};
use access::Access;
pub(crate) use backoff::Limits;
use follow::Follower;

/// Watches every wanted kind, each in a task of its own.
pub(crate) fn start(
    shared: &Arc<Shared>,
    lines: &[Arc<Line>],
    updates: &Sender<Update>,
    limits: Limits,
    runtime: &Handle,
) -> Result<Vec<AbortHandle>, WatchError> {
    let access = Arc::new(Access::open(&shared.source, limits)?);
    shared.server.get_or_init(|| access.url().to_owned());
    let mut tasks: Vec<_> = Vec::new();
    for line in lines {
        let task = format!("cluster-watch-{}", line.kind().plural());
        let (access, shared, line) = (Arc::clone(&access), Arc::clone(shared), Arc::clone(line));
        let (updates, name, mut restarts) = (updates.clone(), task.clone(), false);
        tasks.push(supervise::spawn(runtime, task, move || {
            let restarted = std::mem::replace(&mut restarts, true);
            let follower = Follower::new(&name, &access, &shared, &line, &updates, limits, restarted);
            let line = [Arc::clone(&line)];
            async move {
                let _lost = LostOnDrop(&line);
                follower.run().await;
            }
        }));
    }
    let (source, host, lines) = (shared.source.to_string(), access.host().to_owned(), lines.to_vec());
    tasks.push(supervise::spawn(runtime, "cluster-first-answer", move || {
        tell_if_late(source.clone(), host.clone(), lines.clone(), limits)
    }));
    Ok(tasks)
}

/// Says once what is waited for, should the first answer take long. Failures have lines of their own, but the first of
/// them may take half a minute.
async fn tell_if_late(source: String, host: String, lines: Vec<Arc<Line>>, limits: Limits) {
    tokio::time::sleep(limits.first_answer).await;
    let waiting: Vec<_> =
        lines.iter().filter(|line| line.is_unanswered()).map(|line| line.kind().plural()).collect();
    if !waiting.is_empty() {
        let kinds = waiting.join(", ");
        let line = format!("{source}: still waiting for a first answer from {host}, for {kinds}");
        log(Level::Warning, &line);
    }
}
