//! Requests to the API server: the URIs of lists and watches, and sending them.

use std::fmt::Write;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::http::{HeaderMap, Method, Request, Response as HttpResponse, StatusCode, header};
use kube::client::Body;
use tokio::time::timeout;

use crate::access::Access;
use crate::decode::{self, Encoding};
use crate::measure::{Exchanged, observe_request};
use crate::message::Status;
use crate::resource::{Resource, collection_path};
use crate::scope::Scope;

/// Number of objects per page of a list.
pub(crate) const PAGE_SIZE: u32 = 500;

const JSON: &str = "application/json";

/// The objects of a resource and scope at a server that serves the resource in some version.
pub(crate) struct Collection<R> {
    pub version: String,
    path: String,
    scope: Scope,
    resource: PhantomData<fn() -> R>,
}

impl<R> Clone for Collection<R> {
    fn clone(&self) -> Self {
        let (version, path, scope) = (self.version.clone(), self.path.clone(), self.scope.clone());
        Self { version, path, scope, resource: PhantomData }
    }
}

impl<R: Resource> Collection<R> {
    pub(crate) fn new(version: &str, scope: &Scope) -> Self {
        let path = collection_path::<R>(version, scope.namespace_name());
        Self { version: version.to_owned(), path, scope: scope.clone(), resource: PhantomData }
    }

    fn uri(&self, parameters: &[(&str, &str)], selectors: &[(&str, String)]) -> String {
        let mut uri = self.path.clone();
        let selectors = selectors.iter().map(|(name, value)| (*name, &**value));
        for (n, (name, value)) in parameters.iter().copied().chain(selectors).enumerate() {
            uri.push(if n == 0 { '?' } else { '&' });
            uri.push_str(name);
            uri.push('=');
            escape(value, &mut uri);
        }
        uri
    }

    pub(crate) fn page(&self, limit: bool, version: Option<&str>, next: &str) -> Call {
        let limit = limit.then(|| PAGE_SIZE.to_string());
        let mut parameters = Vec::new();
        parameters.extend(limit.as_deref().map(|limit| ("limit", limit)));
        match next.is_empty() {
            true => parameters.extend(version.map(|version| ("resourceVersion", version))),
            false => parameters.push(("continue", next)),
        }
        self.list(self.uri(&parameters, &self.scope.parameters()))
    }

    /// A list of the first object. Without a version, since servers ignore the limit at version 0.
    pub(crate) fn first_object(&self) -> Call {
        self.list(self.uri(&[("limit", "1")], &self.scope.census_parameters()))
    }

    fn list(&self, uri: String) -> Call {
        Call { accept: R::ENCODING.list_accept(), verb: "list", ..Call::get(&uri) }
    }

    pub(crate) fn is_countable(&self) -> bool {
        self.scope.is_countable()
    }

    /// A watch from `version` on; without one it begins with all existing objects.
    pub(crate) fn watch(&self, version: Option<&str>, duration: Duration) -> Call {
        let duration = duration.as_secs().to_string();
        let common = [("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", &*duration)];
        let mut parameters = common.to_vec();
        match version {
            Some(version) => parameters.push(("resourceVersion", version)),
            None => {
                parameters.extend([("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")])
            }
        }
        let uri = self.uri(&parameters, &self.scope.parameters());
        Call { accept: R::ENCODING.watch_accept(), verb: "watch", ..Call::get(&uri) }
    }
}

/// A request, before credentials are added.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub method: Method,
    pub uri: String,
    pub accept: &'static str,
    /// For metrics: `list`, `watch`, `get`, `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    pub body: Option<(&'static str, Bytes)>,
    pub if_none_match: Option<String>,
}

impl Call {
    pub(crate) fn get(uri: &str) -> Self {
        let (method, uri) = (Method::GET, uri.to_owned());
        Self { method, uri, accept: JSON, verb: "get", body: None, if_none_match: None }
    }

    fn request(&self) -> Result<Request<Body>, String> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(&self.uri)
            .header(header::ACCEPT, self.accept)
            .header(header::USER_AGENT, concat!("rhumb/", env!("CARGO_PKG_VERSION")));
        if let Some((content_type, _)) = &self.body {
            request = request.header(header::CONTENT_TYPE, *content_type);
        }
        if let Some(tag) = &self.if_none_match {
            request = request.header(header::IF_NONE_MATCH, tag);
        }
        let body = self.body.as_ref().map_or_else(Body::empty, |(_, bytes)| Body::from(bytes.to_vec()));
        request.body(body).map_err(|e| format!("{}: {e}", self.uri))
    }
}

/// Why a request has no usable response.
#[derive(Debug)]
pub(crate) struct Failure {
    pub status: Option<StatusCode>,
    pub why: String,
    /// The header Retry-After.
    pub retry_after: Option<Duration>,
    /// What the server says, if it responded.
    pub details: Option<Box<Status>>,
}

impl Failure {
    pub(crate) fn code(&self) -> Option<u16> {
        self.status.map(|status| status.as_u16())
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self { status: None, why, retry_after: None, details: None }
    }
}

/// A successful response.
pub(crate) struct Response {
    pub body: Body,
    encoding: Option<Encoding>,
}

impl Response {
    /// From the Content-Type; by default the encoding that was requested.
    pub(crate) fn encoding<R: Resource>(&self) -> Encoding {
        self.encoding.unwrap_or(R::ENCODING)
    }
}

/// Sends a request; any response but success is a failure.
pub(crate) async fn send(access: &Access, call: Call, limit: Duration) -> Result<Response, Failure> {
    let response = exchange(access, &call, limit).await?;
    let status = response.status();
    if status.is_success() {
        let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let encoding = content_type.and_then(Encoding::from_content_type);
        return Ok(Response { body: response.into_body(), encoding });
    }
    let retry_after = retry_after(response.headers());
    let message = timeout(limit, response.into_body().collect_bytes()).await;
    let details = message.ok().and_then(Result::ok).map(decode::error_status).unwrap_or_default();
    let message = &details.message;
    let why = if message.is_empty() { format!("{status}") } else { format!("{status}: {message}") };
    Err(Failure { status: Some(status), why, retry_after, details: Some(Box::new(details)) })
}

/// The whole body of a response.
pub(crate) async fn fetch(access: &Access, call: Call, limit: Duration) -> Result<Bytes, Failure> {
    let uri = call.uri.clone();
    let response = send(access, call, limit).await?;
    let bytes = timeout(limit, response.body.collect_bytes()).await;
    let bytes = bytes.map_err(|_| format!("{uri}: response incomplete after {} s", limit.as_secs()))?;
    Ok(bytes.map_err(|e| e.to_string())?)
}

/// Sends a request, within the rate limit. Credentials that the server refuses are reloaded, and the request is repeated
/// once.
pub(crate) async fn exchange(
    access: &Access,
    call: &Call,
    limit: Duration,
) -> Result<HttpResponse<Body>, Failure> {
    let (response, created) = exchange_once(access, call, limit).await?;
    if response.status() != StatusCode::UNAUTHORIZED || !access.refuse_credentials(created) {
        return Ok(response);
    }
    Ok(exchange_once(access, call, limit).await?.0)
}

async fn exchange_once(
    access: &Access,
    call: &Call,
    limit: Duration,
) -> Result<(HttpResponse<Body>, Instant), Failure> {
    let request = call.request()?;
    let throttled = access.rate_limit.acquire().await;
    let (client, created) = access.client().await?;
    let started = Instant::now();
    let sent = timeout(limit, client.send(request)).await;
    let status = sent.as_ref().ok().and_then(|sent| sent.as_ref().ok()).map(|response| response.status());
    observe_request(&Exchanged {
        cluster: access.id().as_str(),
        host: access.host(),
        method: call.method.as_str(),
        verb: call.verb,
        code: status.map(|status| status.as_u16()),
        elapsed: started.elapsed(),
        throttled,
    });
    match sent {
        Ok(Ok(response)) => Ok((response, created)),
        Ok(Err(e)) => {
            access.suspect_credentials();
            Err(error_chain(&e).into())
        }
        Err(_) => {
            access.suspect_credentials();
            Err(format!("no response within {} s", limit.as_secs()).into())
        }
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// The error with all its causes: the last one is the most specific.
fn error_chain(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut cause = e.source();
    while let Some(e) = cause {
        let more = e.to_string();
        if !text.contains(&more) {
            let _ = write!(text, ": {more}");
        }
        cause = e.source();
    }
    text
}

pub(crate) fn escape(text: &str, to: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => to.push(char::from(byte)),
            _ => {
                let _ = write!(to, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::RawObject;
    use crate::message::ObjectMeta;

    struct Pod;
    impl Resource for Pod {
        const GROUP: &'static str = "";
        const VERSIONS: &'static [&'static str] = &["v1"];
        const KIND: &'static str = "Pod";
        const PLURAL: &'static str = "pods";
        const ENCODING: Encoding = Encoding::Protobuf;
        fn decode(_: &RawObject) -> Result<Self, String> {
            Ok(Self)
        }
        fn meta(&self) -> &ObjectMeta {
            static META: std::sync::LazyLock<ObjectMeta> = std::sync::LazyLock::new(ObjectMeta::default);
            &META
        }
    }

    struct Import(ObjectMeta);
    impl Resource for Import {
        const GROUP: &'static str = "multicluster.x-k8s.io";
        const VERSIONS: &'static [&'static str] = &["v1beta1", "v1alpha1"];
        const KIND: &'static str = "ServiceImport";
        const PLURAL: &'static str = "serviceimports";
        const ENCODING: Encoding = Encoding::Json;
        fn decode(_: &RawObject) -> Result<Self, String> {
            Err(String::new())
        }
        fn meta(&self) -> &ObjectMeta {
            &self.0
        }
    }

    #[test]
    fn uris() {
        let check = |call: Call, expected: &str| assert_eq!(call.uri, expected);
        let pods = Collection::<Pod>::new("v1", &Scope::all());
        let duration = Duration::from_secs(300);
        check(pods.page(true, Some("0"), ""), "/api/v1/pods?limit=500&resourceVersion=0");
        check(pods.page(true, Some("0"), "a=="), "/api/v1/pods?limit=500&continue=a%3D%3D");
        check(pods.page(false, None, ""), "/api/v1/pods");
        check(pods.first_object(), "/api/v1/pods?limit=1");
        let running = Collection::<Pod>::new("v1", &Scope::all().fields("status.phase!=Failed"));
        check(running.first_object(), "/api/v1/pods?limit=1");
        check(running.page(false, None, ""), "/api/v1/pods?fieldSelector=status.phase%21%3DFailed");
        let one = Collection::<Pod>::new("v1", &Scope::name("shop", "web-0"));
        check(one.first_object(), "/api/v1/namespaces/shop/pods?limit=1&fieldSelector=metadata.name%3Dweb-0");
        check(
            pods.watch(Some("12"), duration),
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=12",
        );
        check(
            Collection::<Import>::new("v1beta1", &Scope::namespace("shop").labels("a")).watch(None, duration),
            "/apis/multicluster.x-k8s.io/v1beta1/namespaces/shop/serviceimports?watch=true&allowWatchBookmarks=true\
             &timeoutSeconds=300&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&labelSelector=a",
        );
    }
}
