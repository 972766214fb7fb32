//! Parses API requests from their path and query.

use crate::cluster::objects::Resource;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// At most `limit` objects from an index on, or all.
    List { limit: Option<usize>, from: usize },
    /// All objects, then changes.
    Stream,
    /// Changes after this version.
    Watch { version: u64 },
}

/// The kind and the request. Selectors are ignored.
pub fn read(target: &str) -> Option<(Resource, Request)> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let resource = Resource::ALL.into_iter().find(|resource| resource.collection("") == path)?;
    let asked = |name: &str| {
        query.split('&').filter_map(|pair| pair.split_once('=')).find_map(|(n, v)| (n == name).then_some(v))
    };
    let is = |name: &str| matches!(asked(name), Some("true" | "1"));
    let number = |name: &str| asked(name).and_then(|value| value.parse::<u64>().ok());
    let request = if !is("watch") {
        let place = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let limit = number("limit").map(place).filter(|limit| *limit > 0);
        Request::List { limit, from: number("continue").map_or(0, place) }
    } else if is("sendInitialEvents") {
        Request::Stream
    } else {
        Request::Watch { version: number("resourceVersion").unwrap_or_default() }
    };
    Some((resource, request))
}
