//! Discovers in which version a server serves a resource. CRDs may come, go and change at any time.
//!
//! One request serves all resources: aggregated discovery, which a server answers with 304 while nothing changed. Servers
//! before 1.27 are asked for each group.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::http::{StatusCode, header};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::access::Access;
use crate::backoff::jittered;
use crate::request::{Call, Failure, exchange, fetch};
use crate::resource::Resource;

const GROUPS: &str = "/apis";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Responses are valid for this long when a resource is looked for, so that resources that start together share one.
pub(crate) const SHARED_FOR: Duration = Duration::from_millis(1500);

/// What a server serves, as far as somebody asked.
#[derive(Default)]
pub(crate) struct Discovery(Mutex<State>);

#[derive(Default)]
struct State {
    /// The groups that somebody asked for; the others would be hundreds of kilobytes per cluster.
    groups: BTreeMap<&'static str, Vec<ServedVersion>>,
    etag: Option<String>,
    fetched: Option<Instant>,
    /// The server has no aggregated discovery.
    is_old: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct ServedVersion {
    version: String,
    /// None if unknown.
    plurals: Option<Vec<String>>,
}

impl Discovery {
    /// The preferred version among those that the server serves and [`Resource::VERSIONS`] has; else why there is none.
    /// From a response that is at most `max_age` old.
    pub(crate) async fn version_of<R: Resource>(
        &self,
        access: &Access,
        max_age: Duration,
        limit: Duration,
    ) -> Result<Result<&'static str, String>, Failure> {
        let mut state = self.0.lock().await;
        if !state.is_old {
            state.refresh(R::GROUP, access, max_age, limit).await?;
        }
        if state.is_old {
            let versions = group_versions(R::GROUP, access, limit).await?;
            state.groups.insert(R::GROUP, versions);
        }
        let served = state.groups.get(R::GROUP).map(Vec::as_slice).unwrap_or_default();
        Ok(choose::<R>(served))
    }

    /// When a watched resource is to be looked for again: all count from the last response, so that the first of them to
    /// look requests the next one for all.
    pub(crate) async fn next_poll(&self, interval: Duration) -> Instant {
        self.0.lock().await.fetched.unwrap_or_else(Instant::now) + jittered(interval)
    }
}

fn choose<R: Resource>(served: &[ServedVersion]) -> Result<&'static str, String> {
    let has = |it: &ServedVersion| it.plurals.as_ref().is_none_or(|all| all.iter().any(|it| it == R::PLURAL));
    let serves = |version: &&&str| served.iter().any(|it| it.version == **version && has(it));
    if let Some(version) = R::VERSIONS.iter().find(serves) {
        return Ok(version);
    }
    let others: Vec<&str> = served.iter().filter(|it| has(it)).map(|it| &*it.version).collect();
    Err(match others.is_empty() {
        true => format!("the server has no {}s ({})", R::KIND, R::GROUP),
        false => format!(
            "the server has {}s ({}) as {}, not as {}",
            R::KIND,
            R::GROUP,
            others.join(", "),
            R::VERSIONS.join(" or ")
        ),
    })
}

impl State {
    /// Requests aggregated discovery, unless another resource did lately.
    async fn refresh(
        &mut self,
        group: &'static str,
        access: &Access,
        max_age: Duration,
        limit: Duration,
    ) -> Result<(), Failure> {
        let is_known = self.groups.contains_key(group);
        if is_known && self.fetched.is_some_and(|fetched| fetched.elapsed() < max_age) {
            return Ok(());
        }
        let if_none_match = self.etag.clone().filter(|_| is_known);
        let call = Call { accept: AGGREGATED, if_none_match, ..Call::get(GROUPS) };
        let response = exchange(access, &call, limit).await?;
        let status = response.status();
        if status == StatusCode::NOT_MODIFIED {
            self.fetched = Some(Instant::now());
            return Ok(());
        }
        let (parts, body) = response.into_parts();
        let text = |name| parts.headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
        let (etag, content_type) = (text(header::ETAG), text(header::CONTENT_TYPE).unwrap_or_default());
        if status.is_success() && content_type.contains("APIGroupDiscoveryList") {
            let bytes = timeout(limit, body.collect_bytes()).await;
            let bytes =
                bytes.map_err(|_| format!("{GROUPS}: response incomplete after {} s", limit.as_secs()))?;
            let list: GroupList = serde_json::from_slice(&bytes.map_err(|e| e.to_string())?)
                .map_err(|e| format!("{GROUPS}: {e}"))?;
            self.groups.entry(group).or_default();
            for (known, versions) in &mut self.groups {
                *versions = list.versions_of(known);
            }
            (self.etag, self.fetched) = (etag, Some(Instant::now()));
            return Ok(());
        }
        if status.is_server_error()
            || status == StatusCode::UNAUTHORIZED
            || status == StatusCode::TOO_MANY_REQUESTS
        {
            let why = format!("{GROUPS}: {status}");
            return Err(Failure { status: Some(status), ..Failure::from(why) });
        }
        self.is_old = true;
        Ok(())
    }
}

async fn group_versions(
    group: &str,
    access: &Access,
    limit: Duration,
) -> Result<Vec<ServedVersion>, Failure> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Group {
        versions: Vec<GroupVersion>,
    }
    #[derive(Deserialize)]
    struct GroupVersion {
        version: String,
    }
    let path = format!("{GROUPS}/{group}");
    match fetch(access, Call::get(&path), limit).await {
        Ok(bytes) => {
            let group: Group = serde_json::from_slice(&bytes).map_err(|e| format!("{path}: {e}"))?;
            let served = |it: GroupVersion| ServedVersion { version: it.version, plurals: None };
            Ok(group.versions.into_iter().map(served).collect())
        }
        Err(failure) if failure.status == Some(StatusCode::NOT_FOUND) => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GroupList {
    items: Vec<GroupItem>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GroupItem {
    metadata: GroupName,
    versions: Vec<VersionItem>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GroupName {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct VersionItem {
    version: String,
    resources: Vec<ResourceItem>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResourceItem {
    resource: String,
}

impl GroupList {
    fn versions_of(&self, group: &str) -> Vec<ServedVersion> {
        let versions =
            self.items.iter().filter(|item| item.metadata.name == group).flat_map(|item| &item.versions);
        let served = |it: &VersionItem| ServedVersion {
            version: it.version.clone(),
            plurals: Some(it.resources.iter().map(|it| it.resource.clone()).collect()),
        };
        versions.map(served).collect()
    }
}
