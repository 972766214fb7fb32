//! Requests to the API server: the URIs of lists and watches, and sending them.

use std::fmt::Write;
use std::time::{Duration, Instant};

use hyper::http::{HeaderMap, Request, StatusCode, header};
use kube::client::Body;
use tokio::time::timeout;

use super::access::Access;
use super::decode::{self, Encoding};
use crate::object::Kind;
use crate::watch::observe_request;

/// Number of objects per page of a list.
pub(super) const PAGE_SIZE: u32 = 500;

/// Excludes pods that have ended: they keep their addresses for a while, but have no DNS name.
const UNFINISHED_PODS: &str = "status.phase!=Succeeded,status.phase!=Failed,status.phase!=Unknown";

pub(super) const IMPORT_GROUP: &str = "/apis/multicluster.x-k8s.io";

/// The objects of one kind at a server.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub kind: Kind,
    pub path: String,
    pub encoding: Encoding,
}

impl Resource {
    /// `import_version` is the API version of ServiceImports, several of which are in use.
    pub(super) fn new(kind: Kind, import_version: &str) -> Self {
        let group = match kind {
            Kind::Namespace | Kind::Service | Kind::Pod => "/api/v1".to_owned(),
            Kind::EndpointSlice => "/apis/discovery.k8s.io/v1".to_owned(),
            Kind::ServiceImport => format!("{IMPORT_GROUP}/{import_version}"),
        };
        let encoding = if kind == Kind::ServiceImport { Encoding::Json } else { Encoding::Protobuf };
        Self { kind, path: format!("{group}/{}", kind.plural()), encoding }
    }

    /// Has no label selectors: a [`crate::Want`] does not tell whether another block needs all objects, so these are
    /// selected on arrival.
    fn uri(&self, parameters: &[(&str, &str)]) -> String {
        let selector = (self.kind == Kind::Pod).then_some(("fieldSelector", UNFINISHED_PODS));
        self.uri_with(parameters, selector)
    }

    fn uri_with(&self, parameters: &[(&str, &str)], selector: Option<(&str, &str)>) -> String {
        let mut uri = self.path.clone();
        for (n, (name, value)) in parameters.iter().copied().chain(selector).enumerate() {
            uri.push(if n == 0 { '?' } else { '&' });
            uri.push_str(name);
            uri.push('=');
            escape(value, &mut uri);
        }
        uri
    }

    pub(super) fn page(&self, limit: bool, version: Option<&str>, next: &str) -> String {
        let limit = limit.then(|| PAGE_SIZE.to_string());
        let mut parameters = Vec::new();
        parameters.extend(limit.as_deref().map(|limit| ("limit", limit)));
        match next.is_empty() {
            true => parameters.extend(version.map(|version| ("resourceVersion", version))),
            false => parameters.push(("continue", next)),
        }
        self.uri(&parameters)
    }

    /// A list of the first object. Without a version, since servers ignore the limit at version 0; and without a
    /// selector, for which a server might read many objects.
    pub(super) fn first_object(&self) -> String {
        self.uri_with(&[("limit", "1")], None)
    }

    /// A watch from `version` on; without one it begins with all existing objects.
    pub(super) fn watch(&self, version: Option<&str>, duration: Duration) -> String {
        let duration = duration.as_secs().to_string();
        let common = [("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", &*duration)];
        let mut parameters = common.to_vec();
        match version {
            Some(version) => parameters.push(("resourceVersion", version)),
            None => {
                parameters.extend([("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")])
            }
        }
        self.uri(&parameters)
    }
}

/// Why a request has no usable response.
#[derive(Debug)]
pub(super) struct Failure {
    pub status: Option<StatusCode>,
    pub why: String,
    /// The header Retry-After.
    pub retry_after: Option<Duration>,
}

impl Failure {
    pub(super) fn code(&self) -> Option<u16> {
        self.status.map(|status| status.as_u16())
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self { status: None, why, retry_after: None }
    }
}

/// A successful response.
pub(super) struct Response {
    pub body: Body,
    encoding: Option<Encoding>,
}

impl Response {
    /// From the Content-Type; by default the encoding that was requested.
    pub(super) fn encoding(&self, resource: &Resource) -> Encoding {
        self.encoding.unwrap_or(resource.encoding)
    }
}

/// Sends a GET request; any response but success is a failure.
pub(super) async fn send(
    access: &Access,
    uri: &str,
    accept: &str,
    limit: Duration,
) -> Result<Response, Failure> {
    let request = Request::get(uri)
        .header(header::ACCEPT, accept)
        .header(header::USER_AGENT, concat!("rhumb/", env!("CARGO_PKG_VERSION")))
        .body(Body::empty())
        .map_err(|e| format!("{uri}: {e}"))?;
    let client = access.client().await?;
    let started = Instant::now();
    let sent = timeout(limit, client.send(request)).await;
    let status = sent.as_ref().ok().and_then(|sent| sent.as_ref().ok()).map(|response| response.status());
    observe_request(access.host(), status.map(|status| status.as_u16()), started.elapsed());
    let response = match sent {
        Ok(Ok(response)) => response,
        Ok(Err(e)) => {
            access.suspect_credentials();
            return Err(error_chain(&e).into());
        }
        Err(_) => {
            access.suspect_credentials();
            return Err(format!("no response within {} s", limit.as_secs()).into());
        }
    };
    let status = response.status();
    if status.is_success() {
        let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let encoding = content_type.and_then(Encoding::from_content_type);
        return Ok(Response { body: response.into_body(), encoding });
    }
    if status == StatusCode::UNAUTHORIZED {
        access.suspect_credentials();
    }
    let retry_after = retry_after(response.headers());
    let message = timeout(limit, response.into_body().collect_bytes()).await;
    let message = message.ok().and_then(Result::ok).map(decode::error_message).unwrap_or_default();
    let why = if message.is_empty() { format!("{status}") } else { format!("{status}: {message}") };
    Err(Failure { status: Some(status), why, retry_after })
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

fn escape(text: &str, to: &mut String) {
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

    #[test]
    fn uris() {
        let check = |uri: String, expected: &str| assert_eq!(uri, expected);
        let services = Resource::new(Kind::Service, "");
        let duration = Duration::from_secs(300);
        check(services.page(true, Some("0"), ""), "/api/v1/services?limit=500&resourceVersion=0");
        check(services.page(true, Some("0"), "a=="), "/api/v1/services?limit=500&continue=a%3D%3D");
        check(services.page(false, None, ""), "/api/v1/services");
        check(services.first_object(), "/api/v1/services?limit=1");
        check(Resource::new(Kind::Pod, "").first_object(), "/api/v1/pods?limit=1");
        check(
            services.watch(Some("12"), duration),
            "/api/v1/services?watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=12",
        );
        check(
            Resource::new(Kind::EndpointSlice, "").watch(None, duration),
            "/apis/discovery.k8s.io/v1/endpointslices?watch=true&allowWatchBookmarks=true&timeoutSeconds=300\
             &sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        );
        check(
            Resource::new(Kind::Pod, "").page(false, None, ""),
            "/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed%2C\
             status.phase%21%3DUnknown",
        );
        check(
            Resource::new(Kind::ServiceImport, "v1beta1").page(false, None, ""),
            "/apis/multicluster.x-k8s.io/v1beta1/serviceimports",
        );
    }
}
