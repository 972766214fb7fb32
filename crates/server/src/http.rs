//! HTTP endpoints: health, readiness, metrics. The server owns the sockets, so that they survive a reload; plugins
//! only register routes.

mod admission;
mod password;
mod probe;
mod rate;
mod serve;
mod web;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use password::check_hash;
pub use probe::probe;
pub(crate) use serve::{HttpBound, HttpServer, Site};
pub use web::{Rate, Rules, SharedWebSource, WebSource};

/// A path on an address, and its handler.
#[derive(Clone)]
pub struct Route {
    /// `:8080` or `127.0.0.1:8080`.
    pub addr: String,
    pub path: &'static str,
    pub answer: Arc<dyn Fn(&HttpState) -> HttpAnswer + Send + Sync>,
}

/// The process state that an HTTP answer may depend on.
#[derive(Clone, Copy, Debug)]
pub struct HttpState {
    /// The process received a signal to stop and is in its lameduck time or beyond.
    pub stopping: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    pub content: Content,
}

/// The content of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Plain(HttpBody),
    /// Computed asynchronously for each request.
    Deferred(DeferredAnswer),
    /// Chosen by the request's `Accept` header, empty if there is none.
    Negotiated(Negotiate),
}

/// The future of an answer.
pub type HttpFuture = Pin<Box<dyn Future<Output = HttpAnswer> + Send>>;

/// Computes an answer for the query string of a request, empty if there is none.
#[derive(Clone, Copy, Debug)]
pub struct DeferredAnswer(pub fn(query: &str) -> HttpFuture);

/// Computes a body for an `Accept` header.
#[derive(Clone, Copy, Debug)]
pub struct Negotiate(pub fn(accept: &str) -> HttpBody);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpBody {
    pub content_type: String,
    pub bytes: Vec<u8>,
}

impl HttpAnswer {
    pub fn text(status: u16, body: impl Into<String>) -> HttpAnswer {
        let bytes = body.into().into_bytes();
        let content_type = "text/plain; charset=utf-8".to_owned();
        HttpAnswer { status, content: Content::Plain(HttpBody { content_type, bytes }) }
    }

    pub fn negotiated(status: u16, body: fn(accept: &str) -> HttpBody) -> HttpAnswer {
        HttpAnswer { status, content: Content::Negotiated(Negotiate(body)) }
    }

    pub fn deferred(answer: fn(query: &str) -> HttpFuture) -> HttpAnswer {
        HttpAnswer { status: 200, content: Content::Deferred(DeferredAnswer(answer)) }
    }

    /// Computes a deferred answer; others are returned as they are.
    pub(crate) async fn ready(self, query: &str) -> HttpAnswer {
        match self.content {
            Content::Deferred(DeferredAnswer(make)) => make(query).await,
            Content::Plain(_) | Content::Negotiated(_) => self,
        }
    }

    /// The body for a client with this `Accept` header.
    pub fn body(&self, accept: &str) -> HttpBody {
        match &self.content {
            Content::Plain(body) => body.clone(),
            Content::Negotiated(Negotiate(body)) => body(accept),
            Content::Deferred(_) => HttpBody { content_type: String::new(), bytes: Vec::new() },
        }
    }
}

impl PartialEq for Negotiate {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Negotiate {}

impl PartialEq for DeferredAnswer {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for DeferredAnswer {}
