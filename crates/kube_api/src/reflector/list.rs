//! Paged lists, for servers that have pages in their cache or cannot stream.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::phase::Freshness;
use super::{End, Reflector};
use crate::access::Access;
use crate::decode::Page;
use crate::request::{Call, Collection, Failure, send};
use crate::resource::Resource;

impl<R: Resource> Reflector<R> {
    /// Lists all objects.
    pub(super) async fn list(&mut self, collection: &Collection<R>) -> Result<(), End> {
        match self.pages(collection, true).await {
            // The continue token expired; a list without pages cannot expire.
            Err(End::Expired) => self.pages(collection, false).await,
            done => done,
        }
    }

    async fn pages(&mut self, collection: &Collection<R>, limit: bool) -> Result<(), End> {
        self.list_begins().await?;
        // Version 0 accepts any cached state: not if that could be older than the known state, and not needed where
        // the server pages its cache at the latest version.
        let any = self.phase.freshness() == Freshness::AnyCache && !self.access.has_cached_pages().await;
        let version = any.then_some("0");
        let (access, time_limit) = (Arc::clone(&self.access), self.limits.response_timeout);
        let fetch = |next: &str| {
            let (access, call) = (Arc::clone(&access), collection.page(limit, version, next));
            async move { page::<R>(&access, call, time_limit).await }
        };
        let mut page = fetch("").await;
        loop {
            let Page { metadata, items } = page.map_err(|failure| self.classify(failure))?;
            self.status.answered();
            // The server prepares the next page while this one is decoded. Dropping the set cancels the request.
            let mut next_page = JoinSet::new();
            if !metadata.next.is_empty() {
                let (task, next) = (self.task.clone(), fetch(&metadata.next));
                next_page.spawn(async move { supervise::catch_async(&task, next).await });
            }
            for object in items.objects() {
                match supervise::catch(&self.task, || R::decode(&object)) {
                    Ok(decoded) => {
                        let decoded = decoded.map_err(|e| self.garbled(&e))?;
                        self.listed(decoded).await?;
                    }
                    Err(panic) => {
                        self.phase.added();
                        self.undecodable(&object, panic).await?;
                    }
                }
            }
            page = match next_page.join_next().await {
                Some(next) => {
                    let next = next.map_err(|e| End::Failed(e.to_string().into()))?;
                    next.map_err(|panic| End::Failed(panic.to_string().into()))?
                }
                None if metadata.resource_version.is_empty() => {
                    return Err(self.garbled("the list has no resourceVersion"));
                }
                None => return self.list_ends(metadata.resource_version).await,
            };
        }
    }

    /// A response that cannot be decoded. Changes before it stay applied.
    pub(super) fn garbled(&mut self, why: &str) -> End {
        self.events.garbled.inc();
        End::Failed(format!("invalid response: {why}").into())
    }
}

async fn page<R: Resource>(access: &Access, call: Call, time_limit: Duration) -> Result<Page, Failure> {
    let response = send(access, call, time_limit).await?;
    let encoding = response.encoding::<R>();
    let bytes = collect(response.body, time_limit).await?;
    Ok(Page::decode(encoding, bytes)?)
}

async fn collect(mut body: Body, time_limit: Duration) -> Result<Bytes, String> {
    let mut bytes = BytesMut::new();
    loop {
        match timeout(time_limit, body.frame()).await {
            Err(_) => return Err(format!("the list was cut off: no data within {} s", time_limit.as_secs())),
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
