//! What a client of the API wants, read from the path it asks for.

use crate::cluster::objects::Resource;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// At most `limit` objects from a place on, or all.
    List { limit: Option<usize>, from: usize },
    /// Everything there is, then what changes.
    Stream,
    /// What changes after this version.
    Watch { version: u64 },
}

/// Which kind, and what of it. Selectors are not looked at: what is here is what is wanted.
pub fn read(target: &str) -> Option<(Resource, Wanted)> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let resource = Resource::ALL.into_iter().find(|resource| resource.collection("") == path)?;
    let asked = |name: &str| {
        query.split('&').filter_map(|pair| pair.split_once('=')).find_map(|(n, v)| (n == name).then_some(v))
    };
    let is = |name: &str| matches!(asked(name), Some("true" | "1"));
    let number = |name: &str| asked(name).and_then(|value| value.parse::<u64>().ok());
    let wanted = if !is("watch") {
        let place = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let limit = number("limit").map(place).filter(|limit| *limit > 0);
        Wanted::List { limit, from: number("continue").map_or(0, place) }
    } else if is("sendInitialEvents") {
        Wanted::Stream
    } else {
        Wanted::Watch { version: number("resourceVersion").unwrap_or_default() }
    };
    Some((resource, wanted))
}
