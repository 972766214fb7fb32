//! The small HTTP answers beside DNS: health, readiness, metrics. The server owns the sockets, so that they
//! survive a reload; plugins only say what to answer where.

mod probe;
mod serve;
mod tls;

use std::sync::Arc;

pub use probe::probe;
pub(crate) use serve::{HttpBound, HttpServer, Site};
pub use tls::{Clients, Tls, TlsSource};

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
    pub content_type: &'static str,
    pub body: String,
}

impl HttpAnswer {
    pub fn text(status: u16, body: impl Into<String>) -> HttpAnswer {
        HttpAnswer { status, content_type: "text/plain; charset=utf-8", body: body.into() }
    }
}
