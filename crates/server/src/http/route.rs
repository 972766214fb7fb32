//! Routes: a path on an address, the requests it takes, and its handler.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::ACCEPT;
use hyper::{HeaderMap, Method, Uri};

/// A path on an address, and its handler.
#[derive(Clone)]
pub struct Route {
    /// `:8080` or `127.0.0.1:8080`.
    pub addr: String,
    pub path: &'static str,
    /// The methods it accepts; empty is every method, as CoreDNS's own pages do.
    pub methods: &'static [Method],
    /// Maximum size of a request's body, in octets. 0: bodies are not read.
    pub body_limit: usize,
    handler: Handler,
}

#[derive(Clone)]
enum Handler {
    Now(Arc<dyn Fn(&HttpRequest) -> HttpAnswer + Send + Sync>),
    Later(Arc<dyn Fn(HttpRequest) -> HttpFuture + Send + Sync>),
}

/// The future of an answer.
pub type HttpFuture = Pin<Box<dyn Future<Output = HttpAnswer> + Send>>;

impl Route {
    /// A route whose handler answers at once, on any method and without reading bodies.
    pub fn new(
        addr: impl Into<String>,
        path: &'static str,
        handler: impl Fn(&HttpRequest) -> HttpAnswer + Send + Sync + 'static,
    ) -> Route {
        Route::with(addr.into(), path, Handler::Now(Arc::new(handler)))
    }

    /// The same for a handler that has to wait.
    pub fn deferred(
        addr: impl Into<String>,
        path: &'static str,
        handler: impl Fn(HttpRequest) -> HttpFuture + Send + Sync + 'static,
    ) -> Route {
        Route::with(addr.into(), path, Handler::Later(Arc::new(handler)))
    }

    fn with(addr: String, path: &'static str, handler: Handler) -> Route {
        Route { addr, path, methods: &[], body_limit: 0, handler }
    }

    /// Accepts only these methods.
    pub fn methods(self, methods: &'static [Method]) -> Route {
        Route { methods, ..self }
    }

    /// Reads bodies of at most this size.
    pub fn body_limit(self, octets: usize) -> Route {
        Route { body_limit: octets, ..self }
    }

    pub(super) fn accepts(&self, method: &Method) -> bool {
        self.methods.is_empty() || self.methods.contains(method)
    }

    /// Answers a request that the route accepts.
    pub async fn answer(&self, request: HttpRequest) -> HttpAnswer {
        match &self.handler {
            Handler::Now(answer) => answer(&request),
            Handler::Later(answer) => answer(request).await,
        }
    }
}

/// A request with its body, and the state of the process that an answer may depend on.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// Empty if the route does not read bodies.
    pub body: Bytes,
    /// The process received a signal to stop and is in its lameduck time or beyond.
    pub stopping: bool,
}

impl HttpRequest {
    /// A GET without headers, for tests of handlers.
    pub fn get(path: &'static str) -> HttpRequest {
        HttpRequest {
            method: Method::GET,
            uri: Uri::from_static(path),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            stopping: false,
        }
    }

    /// The query string, empty if there is none.
    pub fn query(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// The `Accept` header, empty if there is none.
    pub fn accept(&self) -> &str {
        self.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    /// Headers other than the content type.
    pub headers: Vec<(&'static str, String)>,
    pub body: HttpBody,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpBody {
    pub content_type: String,
    pub bytes: Vec<u8>,
}

impl HttpAnswer {
    pub fn new(status: u16, body: HttpBody) -> HttpAnswer {
        HttpAnswer { status, headers: Vec::new(), body }
    }

    pub fn text(status: u16, body: impl Into<String>) -> HttpAnswer {
        let bytes = body.into().into_bytes();
        HttpAnswer::new(status, HttpBody { content_type: "text/plain; charset=utf-8".to_owned(), bytes })
    }
}
