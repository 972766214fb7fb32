//! The requests: where objects of a kind are, and what is asked for.

use std::fmt::Write;
use std::time::{Duration, Instant};

use hyper::http::{HeaderMap, Request, StatusCode, header};
use kube::client::Body;
use tokio::time::timeout;

use super::access::Access;
use super::decode::{self, Encoding};
use crate::object::Kind;
use crate::watch::requested;

/// How many objects a page of a list has.
pub(super) const PAGE: u32 = 500;

/// Pods that have ended keep their addresses for a while, but no name.
const NOT_ENDED: &str = "status.phase!=Succeeded,status.phase!=Failed,status.phase!=Unknown";

pub(super) const IMPORTS: &str = "/apis/multicluster.x-k8s.io";

/// The objects of one kind at a server.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub kind: Kind,
    pub path: String,
    pub encoding: Encoding,
}

impl Resource {
    /// `import_version` is that of ServiceImports, which several are in use of.
    pub(super) fn new(kind: Kind, import_version: &str) -> Self {
        let group = match kind {
            Kind::Namespace | Kind::Service | Kind::Pod => "/api/v1".to_owned(),
            Kind::EndpointSlice => "/apis/discovery.k8s.io/v1".to_owned(),
            Kind::ServiceImport => format!("{IMPORTS}/{import_version}"),
        };
        let encoding = if kind == Kind::ServiceImport { Encoding::Json } else { Encoding::Protobuf };
        Self { kind, path: format!("{group}/{}", kind.plural()), encoding }
    }

    /// The address with what is asked for. Label selectors would go in here when all who want a cluster agree on
    /// one; a [`crate::Want`] does not tell whether somebody wants the rest too, so objects are selected on arrival.
    fn address(&self, asked: &[(&str, &str)]) -> String {
        let selector = (self.kind == Kind::Pod).then_some(("fieldSelector", NOT_ENDED));
        self.exactly(asked, selector)
    }

    fn exactly(&self, asked: &[(&str, &str)], selector: Option<(&str, &str)>) -> String {
        let mut address = self.path.clone();
        for (n, (name, value)) in asked.iter().copied().chain(selector).enumerate() {
            address.push(if n == 0 { '?' } else { '&' });
            address.push_str(name);
            address.push('=');
            escape(value, &mut address);
        }
        address
    }

    pub(super) fn page(&self, limit: bool, version: Option<&str>, next: &str) -> String {
        let limit = limit.then(|| PAGE.to_string());
        let mut asked = Vec::new();
        asked.extend(limit.as_deref().map(|limit| ("limit", limit)));
        match next.is_empty() {
            true => asked.extend(version.map(|version| ("resourceVersion", version))),
            false => asked.push(("continue", next)),
        }
        self.address(&asked)
    }

    /// The first object. Without a version, since a limit counts for nothing at version 0; and without a selector, for
    /// which a server might read many.
    pub(super) fn first(&self) -> String {
        self.exactly(&[("limit", "1")], None)
    }

    /// A watch from `version` on; without one it begins with everything there is.
    pub(super) fn watch(&self, version: Option<&str>, lasts: Duration) -> String {
        let lasts = lasts.as_secs().to_string();
        let common = [("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", &*lasts)];
        let mut asked = common.to_vec();
        match version {
            Some(version) => asked.push(("resourceVersion", version)),
            None => asked.extend([("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]),
        }
        self.address(&asked)
    }
}

/// Why there is no answer, or none to use.
#[derive(Debug)]
pub(super) struct Failure {
    pub status: Option<StatusCode>,
    pub why: String,
    /// The server says when to come again.
    pub later: Option<Duration>,
}

impl Failure {
    pub(super) fn code(&self) -> Option<u16> {
        self.status.map(|status| status.as_u16())
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self { status: None, why, later: None }
    }
}

/// A successful answer.
pub(super) struct Answer {
    pub body: Body,
    encoding: Option<Encoding>,
}

impl Answer {
    /// What the server says it sent; by default what the resource is expected in.
    pub(super) fn encoding(&self, resource: &Resource) -> Encoding {
        self.encoding.unwrap_or(resource.encoding)
    }
}

/// Sends a request; any answer but success is a failure.
pub(super) async fn send(
    access: &Access,
    address: &str,
    accept: &str,
    patience: Duration,
) -> Result<Answer, Failure> {
    let request = Request::get(address)
        .header(header::ACCEPT, accept)
        .header(header::USER_AGENT, concat!("rhumb/", env!("CARGO_PKG_VERSION")))
        .body(Body::empty())
        .map_err(|e| format!("{address}: {e}"))?;
    let client = access.client().await?;
    let began = Instant::now();
    let sent = timeout(patience, client.send(request)).await;
    let status = sent.as_ref().ok().and_then(|sent| sent.as_ref().ok()).map(|response| response.status());
    requested(access.host(), status.map(|status| status.as_u16()), began.elapsed());
    let response = match sent {
        Ok(Ok(response)) => response,
        Ok(Err(e)) => {
            access.doubt();
            return Err(because(&e).into());
        }
        Err(_) => {
            access.doubt();
            return Err(format!("no answer for {} s", patience.as_secs()).into());
        }
    };
    let status = response.status();
    if status.is_success() {
        let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let encoding = content_type.and_then(Encoding::named);
        return Ok(Answer { body: response.into_body(), encoding });
    }
    if status == StatusCode::UNAUTHORIZED {
        access.doubt();
    }
    let later = retry_after(response.headers());
    let said = timeout(patience, response.into_body().collect_bytes()).await;
    let said = said.ok().and_then(Result::ok).map(decode::refusal).unwrap_or_default();
    let why = if said.is_empty() { format!("{status}") } else { format!("{status}: {said}") };
    Err(Failure { status: Some(status), why, later })
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// The whole chain of causes: the last one is the one that helps.
fn because(e: &dyn std::error::Error) -> String {
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
    fn addresses() {
        let check = |address: String, expected: &str| assert_eq!(address, expected);
        let services = Resource::new(Kind::Service, "");
        let lasts = Duration::from_secs(300);
        check(services.page(true, Some("0"), ""), "/api/v1/services?limit=500&resourceVersion=0");
        check(services.page(true, Some("0"), "a=="), "/api/v1/services?limit=500&continue=a%3D%3D");
        check(services.page(false, None, ""), "/api/v1/services");
        check(services.first(), "/api/v1/services?limit=1");
        check(Resource::new(Kind::Pod, "").first(), "/api/v1/pods?limit=1");
        check(
            services.watch(Some("12"), lasts),
            "/api/v1/services?watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=12",
        );
        check(
            Resource::new(Kind::EndpointSlice, "").watch(None, lasts),
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
