//! The Kubernetes API: its messages, and the watches of an API server.
//!
//! ```text
//!            reflector: lists and watches one kind until the cluster is dropped
//!    ┌───────────┬───────────┬───────────┬────────────┐
//! access ──→ request ──→ frames ──→ decode ──→ convert ──→ Change
//! client     URI and     bytes of   message    slim
//!            response    events                objects
//! ```
//!
//! Built-in kinds are requested as protobuf, which costs a fraction of JSON to decode; custom resources exist as JSON
//! only, and some servers and proxies send nothing else. The Content-Type of the response decides.

mod access;
mod backoff;
mod census;
pub(crate) mod convert;
mod decode;
mod discover;
mod frames;
pub(crate) mod message;
mod reflector;
mod request;
mod server_version;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use tokio::task::AbortHandle;

use crate::watch::{Level, LostOnDrop, SharedState, Update, WatchError, WatchStatus, log};
use access::Access;
pub(crate) use backoff::Limits;
use reflector::Reflector;

/// Starts a reflector task for each wanted kind.
pub(crate) fn start(
    shared: &Arc<SharedState>,
    statuses: &[Arc<WatchStatus>],
    updates: &Sender<Update>,
    limits: Limits,
    runtime: &Handle,
) -> Result<Vec<AbortHandle>, WatchError> {
    let access = Arc::new(Access::open(&shared.source, limits)?);
    shared.server.get_or_init(|| access.url().to_owned());
    let mut tasks: Vec<_> = Vec::new();
    for status in statuses {
        let task = format!("cluster-watch-{}", status.kind().plural());
        let (access, shared, status) = (Arc::clone(&access), Arc::clone(shared), Arc::clone(status));
        let (updates, name, mut started_before) = (updates.clone(), task.clone(), false);
        tasks.push(supervise::spawn(runtime, task, move || {
            let restarted = std::mem::replace(&mut started_before, true);
            let reflector = Reflector::new(&name, &access, &shared, &status, &updates, limits, restarted);
            let status = [Arc::clone(&status)];
            async move {
                let _lost = LostOnDrop(&status);
                reflector.run().await;
            }
        }));
    }
    let (source, host, statuses) = (shared.source.to_string(), access.host().to_owned(), statuses.to_vec());
    tasks.push(supervise::spawn(runtime, "cluster-first-answer", move || {
        log_if_late(source.clone(), host.clone(), statuses.clone(), limits)
    }));
    Ok(tasks)
}

/// Logs once which kinds have no response yet if the first one takes long: its failure would be logged only after the
/// response timeout, half a minute.
async fn log_if_late(source: String, host: String, statuses: Vec<Arc<WatchStatus>>, limits: Limits) {
    tokio::time::sleep(limits.first_response).await;
    let waiting: Vec<_> =
        statuses.iter().filter(|it| it.is_unanswered()).map(|it| it.kind().plural()).collect();
    if !waiting.is_empty() {
        let kinds = waiting.join(", ");
        let line = format!("{source}: still waiting for a first answer from {host}, for {kinds}");
        log(Level::Warning, &line);
    }
}
