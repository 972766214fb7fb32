//! The small HTTP answers beside DNS: health, readiness, metrics. The server owns the sockets, so that they
//! survive a reload; plugins only say what to answer where.

mod clients;
mod door;
mod password;
mod probe;
mod rate;
mod san;
mod serve;
mod tls;
mod web;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use clients::{Authorities, Clients};
pub use password::check_hash;
pub use probe::probe;
pub(crate) use serve::{HttpBound, HttpServer, Site};
pub use tls::Tls;
pub use web::{Rate, Rules, TlsSource, WebSource};

/// A path on an address, and what answers it.
#[derive(Clone)]
pub struct Route {
    /// `:8080` or `127.0.0.1:8080`.
    pub addr: String,
    pub path: &'static str,
    pub answer: Arc<dyn Fn(&HttpState) -> HttpAnswer + Send + Sync>,
}

/// What an HTTP answer may depend on.
#[derive(Clone, Copy, Debug)]
pub struct HttpState {
    /// The process was told to stop and is in its lameduck time or beyond.
    pub stopping: bool,
}

/// An HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    pub content: Content,
}

/// What is in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The same for everybody.
    Plain(HttpBody),
    /// Made when it is asked for, which may take its time.
    Waiting(Wait),
    /// In the form that the request's `Accept` header, empty if there is none, asks for.
    Negotiated(Negotiate),
}

/// An answer that takes its time.
pub type Coming = Pin<Box<dyn Future<Output = HttpAnswer> + Send>>;

/// Makes an answer for the query behind the `?` of a request, empty if there is none.
#[derive(Clone, Copy, Debug)]
pub struct Wait(pub fn(query: &str) -> Coming);

/// Makes a body for an `Accept` header.
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

    pub fn waiting(answer: fn(query: &str) -> Coming) -> HttpAnswer {
        HttpAnswer { status: 200, content: Content::Waiting(Wait(answer)) }
    }

    /// The answer that is not waited for any more.
    pub(crate) async fn ready(self, query: &str) -> HttpAnswer {
        match self.content {
            Content::Waiting(Wait(make)) => make(query).await,
            Content::Plain(_) | Content::Negotiated(_) => self,
        }
    }

    /// The body for a client that accepts this.
    pub fn body(&self, accept: &str) -> HttpBody {
        match &self.content {
            Content::Plain(body) => body.clone(),
            Content::Negotiated(Negotiate(body)) => body(accept),
            Content::Waiting(_) => HttpBody { content_type: String::new(), bytes: Vec::new() },
        }
    }
}

impl PartialEq for Negotiate {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Negotiate {}

impl PartialEq for Wait {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Wait {}
