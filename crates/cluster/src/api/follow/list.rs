//! Lists by pages, for servers that have them at hand or do not stream.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{End, Follower};
use crate::api::access::Access;
use crate::api::decode::Page;
use crate::api::request::{Failure, Resource, send};

impl Follower {
    /// Lists everything; gives the version it was at.
    pub(super) async fn list(&mut self, resource: &Resource) -> Result<String, End> {
        match self.pages(resource, true).await {
            // The pages to come were forgotten meanwhile; in one piece nothing can be.
            Err(End::Expired) => self.pages(resource, false).await,
            done => done,
        }
    }

    async fn pages(&mut self, resource: &Resource, limit: bool) -> Result<String, End> {
        self.list_begins().await?;
        // Any cached state will do, unless it could be older than what we had, or is cut into pages all the same.
        let any = !self.expired && !self.access.has_cached_pages().await;
        let version = any.then_some("0");
        let (access, patience) = (Arc::clone(&self.access), self.limits.answer);
        let ask = |next: &str| {
            let (access, resource) = (Arc::clone(&access), resource.clone());
            let address = resource.page(limit, version, next);
            async move { page(&access, &resource, &address, patience).await }
        };
        let mut page = ask("").await;
        loop {
            let Page { metadata, items } = page.map_err(|failure| self.refused(failure))?;
            self.line.answered();
            // While we read this page, the server makes the next one. Dropped, it is not waited for.
            let mut ahead = JoinSet::new();
            if !metadata.next.is_empty() {
                let (task, next) = (self.task.clone(), ask(&metadata.next));
                ahead.spawn(async move { supervise::catch_async(&task, next).await });
            }
            for object in items.objects() {
                match supervise::catch(&self.task, || object.decode(resource.kind)) {
                    Ok(raw) => {
                        let raw = raw.map_err(|e| self.garbled(&e))?;
                        self.listed(raw).await?;
                    }
                    Err(panic) => {
                        self.count += 1;
                        self.quarantine(&object, panic).await?;
                    }
                }
            }
            page = match ahead.join_next().await {
                Some(next) => {
                    let next = next.map_err(|e| End::Failed(e.to_string().into()))?;
                    next.map_err(|panic| End::Failed(panic.to_string().into()))?
                }
                None if metadata.resource_version.is_empty() => {
                    return Err(self.garbled("a list without resourceVersion"));
                }
                None => {
                    self.list_ends().await?;
                    return Ok(metadata.resource_version);
                }
            };
        }
    }

    /// Something that nobody can read. What was read before it is not undone.
    pub(super) fn garbled(&mut self, why: &str) -> End {
        self.events.garbled.inc();
        End::Failed(format!("not understood: {why}").into())
    }
}

async fn page(
    access: &Access,
    resource: &Resource,
    address: &str,
    patience: Duration,
) -> Result<Page, Failure> {
    let answer = send(access, address, resource.encoding.of_list(), patience).await?;
    let encoding = answer.encoding(resource);
    let bytes = collect(answer.body, patience).await?;
    Ok(Page::decode(encoding, bytes)?)
}

async fn collect(mut body: Body, patience: Duration) -> Result<Bytes, String> {
    let mut bytes = BytesMut::new();
    loop {
        match timeout(patience, body.frame()).await {
            Err(_) => return Err("the list stopped half way".to_owned()),
            Ok(None) => return Ok(bytes.freeze()),
            Ok(Some(Err(e))) => return Err(e.to_string()),
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    bytes.extend_from_slice(&data);
                }
            }
        }
    }
}
