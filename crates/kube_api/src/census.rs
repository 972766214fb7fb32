//! A census: how many objects of a resource a server has, and at which resource version. The audit compares watches with it.

use std::time::Duration;

use tokio::time::timeout;

use crate::access::Access;
use crate::decode::Page;
use crate::request::{Collection, Failure, send};
use crate::resource::Resource;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Census {
    pub version: u64,
    /// None if the server does not report it.
    pub count: Option<u64>,
}

/// Lists the first object only, at the latest version and not from a cache. The server reads one object and counts keys;
/// the network carries a response of a few kilobytes. None if its resource versions are not numeric: then nothing can be
/// compared.
pub(crate) async fn census<R: Resource>(
    access: &Access,
    collection: &Collection<R>,
    limit: Duration,
) -> Result<Option<Census>, Failure> {
    let request = async {
        let response = send(access, collection.first_object(), limit).await?;
        let encoding = response.encoding::<R>();
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
    // With selectors, the server's count includes objects that the watch excludes.
    let count = if collection.is_countable() { count(&page) } else { None };
    Ok(Some(Census { version, count }))
}

fn count(page: &Page) -> Option<u64> {
    let rest = match page.metadata.next.is_empty() {
        true => 0,
        false => u64::try_from(page.metadata.remaining_item_count?).ok()?,
    };
    Some(page.items.len() as u64 + rest)
}
