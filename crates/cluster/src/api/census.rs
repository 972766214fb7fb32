//! A census: how many objects of a kind a server has, and at which resource version. The audit compares watches with it.

use std::time::Duration;

use tokio::time::timeout;

use super::access::Access;
use super::decode::Page;
use super::request::{Failure, Resource, send};
use crate::object::Kind;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Census {
    pub version: u64,
    /// None if the server does not report it.
    pub count: Option<u64>,
}

/// Lists the first object only, at the latest version and not from a cache. The server reads one object and counts keys;
/// the network carries a connection and a response of a few kilobytes. None if its resource versions are not numeric:
/// then nothing can be compared.
pub(super) async fn census(
    access: &Access,
    resource: &Resource,
    limit: Duration,
) -> Result<Option<Census>, Failure> {
    let request = async {
        let response = send(access, &resource.first_object(), resource.encoding.list_accept(), limit).await?;
        let encoding = response.encoding(resource);
        let bytes = response.body.collect_bytes().await.map_err(|e| e.to_string())?;
        Ok(Page::decode(encoding, bytes)?)
    };
    let timed_out = |_| {
        access.suspect_credentials();
        Failure::from(format!("no response within {} s", limit.as_secs()))
    };
    // The limit covers the body too.
    let page: Page = timeout(limit, request).await.map_err(timed_out).flatten()?;
    let Ok(version) = page.metadata.resource_version.parse() else { return Ok(None) };
    Ok(Some(Census { version, count: count(resource.kind, &page) }))
}

fn count(kind: Kind, page: &Page) -> Option<u64> {
    // The watch excludes pods that have ended, but the server's count includes them.
    if kind == Kind::Pod {
        return None;
    }
    let rest = match page.metadata.next.is_empty() {
        true => 0,
        false => u64::try_from(page.metadata.remaining_item_count?).ok()?,
    };
    Some(page.items.len() as u64 + rest)
}
