//! How many objects of a kind a server has, and at which version: what watches are checked against.

use std::time::Duration;

use tokio::time::timeout;

use super::access::Access;
use super::decode::Page;
use super::request::{Failure, Resource, send};
use crate::object::Kind;

/// What a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Census {
    pub version: u64,
    /// None where the server does not say.
    pub count: Option<u64>,
}

/// Asks for the first object alone, and for what is so now, not what a cache remembers. To the server that is the
/// reading of one object and the counting of keys; to the network a connection and an answer of a few kilobytes.
/// None if its versions are no numbers: then nothing can be compared.
pub(super) async fn census(
    access: &Access,
    resource: &Resource,
    patience: Duration,
) -> Result<Option<Census>, Failure> {
    let asking = async {
        let answer = send(access, &resource.first(), resource.encoding.of_list(), patience).await?;
        let encoding = answer.encoding(resource);
        let bytes = answer.body.collect_bytes().await.map_err(|e| e.to_string())?;
        Ok(Page::decode(encoding, bytes)?)
    };
    let no_end = |_| {
        access.doubt();
        Failure::from(format!("no answer for {} s", patience.as_secs()))
    };
    // The body counts too: half an answer is none.
    let page: Page = timeout(patience, asking).await.map_err(no_end).flatten()?;
    let Ok(version) = page.metadata.resource_version.parse() else { return Ok(None) };
    Ok(Some(Census { version, count: count(resource.kind, &page) }))
}

fn count(kind: Kind, page: &Page) -> Option<u64> {
    // Watched are only those that have not ended, and no server counts these.
    if kind == Kind::Pod {
        return None;
    }
    let rest = match page.metadata.next.is_empty() {
        true => 0,
        false => u64::try_from(page.metadata.remaining_item_count?).ok()?,
    };
    Some(page.items.len() as u64 + rest)
}
