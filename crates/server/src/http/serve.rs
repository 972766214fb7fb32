//! HTTP listeners, one per address, with routes that can be replaced.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tls::Acceptor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

use super::admission::{Admission, Verdict};
use super::{HttpAnswer, HttpRequest, Route, SharedWebSource};
use crate::{log, runtime};

/// Timeout of a handshake, of a request's headers, of its body, and of the next request on a connection.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether the process received a signal to stop; shared by all listeners.
pub(crate) type Stopping = Arc<AtomicBool>;

/// The routes and the web configuration of one address.
pub(crate) struct Site {
    pub routes: Vec<Route>,
    /// The web configuration with TLS, authentication and rate limit, if there is one.
    pub tls: Option<SharedWebSource>,
}

/// A site with its admission state.
struct SiteState {
    site: Site,
    /// TLS and its certificates, if there is a web configuration.
    acceptor: Option<Acceptor>,
    admission: Admission,
}

impl SiteState {
    fn new(site: Site) -> SiteState {
        let acceptor = site.tls.clone().map(|source| {
            Acceptor::new(
                move || source.tls(),
                |why| log::error(None, format_args!("HTTPS: {why}; the last good certificate stays in use")),
            )
        });
        SiteState { site, acceptor, admission: Admission::default() }
    }
}

/// The shared state that the requests of a connection need.
#[derive(Clone)]
struct SharedSite {
    state: Arc<ArcSwap<SiteState>>,
    stopping: Stopping,
}

/// A listener whose socket is bound but not served yet.
pub(crate) struct HttpBound {
    pub addr: String,
    listener: TcpListener,
}

impl HttpBound {
    pub fn bind(addr: &str) -> io::Result<HttpBound> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("listen tcp {addr}: {error}"));
        let listener = match resolve(addr).map_err(named)? {
            Some(socket_addr) => net::listen_tcp(socket_addr),
            None => {
                let port = port_of(addr).map_err(named)?;
                net::listen_tcp(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).or_else(|error| {
                    if net::ipv6_unavailable(&error) {
                        net::listen_tcp(SocketAddr::from(([0, 0, 0, 0], port)))
                    } else {
                        Err(error)
                    }
                })
            }
        };
        let _entered = runtime::handle().enter();
        let listener = listener.and_then(TcpListener::from_std).map_err(named)?;
        Ok(HttpBound { addr: addr.to_owned(), listener })
    }

    pub fn serve(self, site: Site, stopping: &Stopping) -> HttpServer {
        let state = Arc::new(ArcSwap::from_pointee(SiteState::new(site)));
        let shared = SharedSite { state: Arc::clone(&state), stopping: Arc::clone(stopping) };
        let listener = Arc::new(self.listener);
        let accepting = move || accept(Arc::clone(&listener), shared.clone());
        HttpServer { state, task: supervise::spawn(runtime::handle(), "http-listener", accepting) }
    }
}

/// None for `:8080`, which has no host and means every address. Of several addresses an IPv4 one is chosen, as in Go.
fn resolve(addr: &str) -> io::Result<Option<SocketAddr>> {
    if addr.starts_with(':') {
        return Ok(None);
    }
    let first = addr.to_socket_addrs()?.min_by_key(SocketAddr::is_ipv6);
    first.map(Some).ok_or_else(|| io::Error::other("no address found"))
}

fn port_of(addr: &str) -> io::Result<u16> {
    addr.trim_start_matches(':').parse().map_err(|_| io::Error::other("not a port"))
}

/// A served listener; closed when dropped.
pub(crate) struct HttpServer {
    state: Arc<ArcSwap<SiteState>>,
    task: AbortHandle,
}

impl HttpServer {
    pub fn replace(&self, site: Site) {
        self.state.store(Arc::new(SiteState::new(site)));
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: Arc<TcpListener>, shared: SharedSite) {
    loop {
        supervise::fail_point("http-listener");
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let shared = shared.clone();
        tokio::spawn(supervise::step_async("http-connection", async move {
            if let Err(error) = serve_connection(stream, shared).await {
                log::debug(None, format_args!("HTTPS: {error}"));
            }
        }));
    }
}

/// Serves a new connection, with or without TLS.
async fn serve_connection(stream: TcpStream, shared: SharedSite) -> io::Result<()> {
    let acceptor = shared.state.load().acceptor.clone();
    let config = match acceptor {
        None => None,
        Some(acceptor) => acceptor.config().await.map_err(io::Error::other)?,
    };
    let Some(config) = config else {
        serve_http1(stream, shared).await;
        return Ok(());
    };
    let stream = tokio::time::timeout(REQUEST_TIMEOUT, TlsAcceptor::from(config).accept(stream)).await??;
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        serve_http2(stream, shared).await;
    } else {
        serve_http1(stream, shared).await;
    }
    Ok(())
}

/// Answers the requests of one HTTP/1.1 connection.
async fn serve_http1(stream: impl AsyncRead + AsyncWrite + Unpin, shared: SharedSite) {
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(answer(request, &shared).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let _ = serving.await;
}

/// The same in HTTP/2, for which hyper has no timeout of idle connections.
async fn serve_http2(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, shared: SharedSite) {
    let answered = Arc::new(Notify::new());
    let service = service_fn({
        let answered = Arc::clone(&answered);
        move |request| {
            let (shared, answered) = (shared.clone(), Arc::clone(&answered));
            async move {
                let answer = answer(request, &shared).await;
                answered.notify_one();
                Ok::<_, Infallible>(answer)
            }
        }
    });
    let serving = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    loop {
        tokio::select! {
            _ = &mut serving => return,
            () = answered.notified() => {}
            () = tokio::time::sleep(REQUEST_TIMEOUT) => break,
        }
    }
    serving.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(REQUEST_TIMEOUT, serving).await;
}

/// Answers a request; a panic becomes status 500.
async fn answer(request: Request<Incoming>, shared: &SharedSite) -> Response<Full<Bytes>> {
    let answered = supervise::step_async("http-request", respond(request, shared)).await;
    answered.unwrap_or_else(|| {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

async fn respond(request: Request<Incoming>, shared: &SharedSite) -> Response<Full<Bytes>> {
    let state = shared.state.load_full();
    let Verdict { refused, headers } = match &state.site.tls {
        Some(web) => {
            let authorization = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
            state.admission.admit(web, authorization).await
        }
        None => Verdict::default(),
    };
    let answer = match refused {
        Some(status) => refusal(status),
        None => from_route(request, &state.site.routes, &shared.stopping).await,
    };
    let mut response = Response::new(Full::new(Bytes::from(answer.body.bytes)));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = (CONTENT_TYPE.to_string(), answer.body.content_type);
    let own = answer.headers.into_iter().map(|(name, value)| (name.to_owned(), value));
    for (name, value) in [content_type].into_iter().chain(own).chain(headers) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn refusal(status: u16) -> HttpAnswer {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    HttpAnswer::text(status, format!("{}\n", reason.unwrap_or_default()))
}

/// Lets the route of the request's path answer it.
async fn from_route(request: Request<Incoming>, routes: &[Route], stopping: &AtomicBool) -> HttpAnswer {
    let at_path = || routes.iter().filter(|route| route.path == request.uri().path());
    let Some(route) = at_path().find(|route| route.accepts(request.method())) else {
        let allowed: Vec<&str> = at_path().flat_map(|route| route.methods).map(Method::as_str).collect();
        if allowed.is_empty() {
            return HttpAnswer::text(404, "404 page not found\n");
        }
        return HttpAnswer { headers: vec![("allow", allowed.join(", "))], ..refusal(405) };
    };
    let (head, body) = request.into_parts();
    let body = match read_body(body, route.body_limit).await {
        Ok(body) => body,
        // The rest of the body is not read, so the connection has no next request.
        Err(status) => {
            return HttpAnswer { headers: vec![("connection", "close".to_owned())], ..refusal(status) };
        }
    };
    let stopping = stopping.load(Ordering::Acquire);
    let (method, uri, headers) = (head.method, head.uri, head.headers);
    route.answer(HttpRequest { method, uri, headers, body, stopping }).await
}

/// Reads a body up to a limit and within a timeout, or returns the status of the refusal.
async fn read_body(body: Incoming, limit: usize) -> Result<Bytes, u16> {
    if limit == 0 {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > limit as u64 {
        return Err(413);
    }
    match tokio::time::timeout(REQUEST_TIMEOUT, Limited::new(body, limit).collect()).await {
        Ok(Ok(read)) => Ok(read.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(413),
        Ok(Err(_)) => Err(400),
        Err(_) => Err(408),
    }
}
