//! Lists by pages, for servers that do not stream them.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::http::StatusCode;
use kube::client::Body;
use tokio::time::timeout;

use super::{End, Follower};
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
        // Any cached state will do, unless it could be older than what we had.
        let version = (!self.expired).then_some("0");
        let mut next = String::new();
        loop {
            let address = resource.page(limit, version, &next);
            let page = self.page(resource, &address).await.map_err(|failure| match failure.status {
                Some(StatusCode::GONE) => End::Expired,
                _ => self.refused(failure),
            })?;
            self.line.heard();
            let metadata = page.metadata.clone();
            for raw in page.objects() {
                let raw = raw.map_err(|e| self.garbled(&e))?;
                self.listed(raw).await?;
            }
            if metadata.next.is_empty() {
                if metadata.resource_version.is_empty() {
                    return Err(self.garbled("a list without resourceVersion"));
                }
                self.list_ends().await?;
                return Ok(metadata.resource_version);
            }
            next = metadata.next;
        }
    }

    async fn page(&self, resource: &Resource, address: &str) -> Result<Page, Failure> {
        let body = send(&self.access, address, resource.encoding.of_list(), self.limits.answer).await?;
        let bytes = self.collect(body).await?;
        Ok(Page::decode(self.kind, resource.encoding, bytes)?)
    }

    async fn collect(&self, mut body: Body) -> Result<Bytes, String> {
        let mut bytes = BytesMut::new();
        loop {
            match timeout(self.limits.answer, body.frame()).await {
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

    /// Something that nobody can read. What was read before it is not undone.
    pub(super) fn garbled(&mut self, why: &str) -> End {
        self.events.garbled.inc();
        End::Failed(format!("not understood: {why}").into())
    }
}
