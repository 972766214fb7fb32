//! HTTP listeners, one per address, with routes that can be replaced.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

use super::door::{Door, Verdict};
use super::{HttpAnswer, HttpState, Route, TlsSource};
use crate::{log, runtime};

/// Headers must be here by then, and the next request on a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process was told to stop; the same for all listeners.
pub(crate) type Stopping = Arc<AtomicBool>;

/// What is served on one address.
pub(crate) struct Site {
    pub routes: Vec<Route>,
    /// Behind a door, if this is given.
    pub tls: Option<TlsSource>,
}

/// A site, and what its door remembers.
struct Open {
    site: Site,
    door: Door,
}

impl Open {
    fn new(site: Site) -> Open {
        Open { site, door: Door::default() }
    }
}

/// What the requests of a connection need.
#[derive(Clone)]
struct Host {
    open: Arc<ArcSwap<Open>>,
    stopping: Stopping,
}

/// A listener whose socket is bound but which does not answer yet.
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
        let open = Arc::new(ArcSwap::from_pointee(Open::new(site)));
        let host = Host { open: Arc::clone(&open), stopping: Arc::clone(stopping) };
        let listener = Arc::new(self.listener);
        let accepting = move || accept(Arc::clone(&listener), host.clone());
        HttpServer { open, task: supervise::spawn(runtime::handle(), "http-listener", accepting) }
    }
}

/// `:8080` has no host and means every address. Of several addresses an IPv4 one is chosen, as Go does.
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

/// A listener at work; closed when dropped.
pub(crate) struct HttpServer {
    open: Arc<ArcSwap<Open>>,
    task: AbortHandle,
}

impl HttpServer {
    pub fn replace(&self, site: Site) {
        self.open.store(Arc::new(Open::new(site)));
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: Arc<TcpListener>, host: Host) {
    loop {
        supervise::fail_point("http-listener");
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let host = host.clone();
        tokio::spawn(supervise::step_async("http-connection", async move {
            if let Err(error) = welcome(stream, host).await {
                log::debug(None, format_args!("HTTPS: {error}"));
            }
        }));
    }
}

/// A new connection, in the clear or over TLS.
async fn welcome(stream: TcpStream, host: Host) -> io::Result<()> {
    let source = host.open.load().site.tls.clone();
    let config = match source {
        None => None,
        // Certificates are read from files.
        Some(source) => {
            tokio::task::spawn_blocking(move || source.tls()?.map(|tls| tls.config()).transpose())
                .await
                .map_err(io::Error::other)?
                .map_err(io::Error::other)?
        }
    };
    let Some(config) = config else {
        converse(stream, host).await;
        return Ok(());
    };
    let stream = tokio::time::timeout(PATIENCE, TlsAcceptor::from(config).accept(stream)).await??;
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        converse_http2(stream, host).await;
    } else {
        converse(stream, host).await;
    }
    Ok(())
}

/// Answers the requests of one connection.
async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, host: Host) {
    let service = service_fn(move |request| {
        let host = host.clone();
        async move { Ok::<_, Infallible>(answer(&request, &host).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    let _ = serving.await;
}

/// The same in HTTP/2, which has no time limit of its own for connections that are idle.
async fn converse_http2(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, host: Host) {
    let asked = Arc::new(Notify::new());
    let service = service_fn({
        let asked = Arc::clone(&asked);
        move |request| {
            let (host, asked) = (host.clone(), Arc::clone(&asked));
            async move {
                let answer = answer(&request, &host).await;
                asked.notify_one();
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
            () = asked.notified() => {}
            () = tokio::time::sleep(PATIENCE) => break,
        }
    }
    serving.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(PATIENCE, serving).await;
}

/// A panic costs its request.
async fn answer(request: &Request<Incoming>, host: &Host) -> Response<Full<Bytes>> {
    let answered = supervise::step_async("http-request", respond(request, host)).await;
    answered.unwrap_or_else(|| {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

async fn respond(request: &Request<Incoming>, host: &Host) -> Response<Full<Bytes>> {
    let open = host.open.load_full();
    let Verdict { refused, headers } = match &open.site.tls {
        Some(web) => {
            let authorization = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
            open.door.admit(web, authorization).await
        }
        None => Verdict::default(),
    };
    let answer = match refused {
        Some(status) => refusal(status),
        None => from_route(request, &open.site.routes, &host.stopping),
    };
    let answer = answer.ready(request.uri().query().unwrap_or_default()).await;
    let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
    let body = answer.body(accept.unwrap_or_default());
    let mut response = Response::new(Full::new(Bytes::from(body.bytes)));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = HeaderValue::try_from(body.content_type) {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    for (name, value) in headers {
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

fn from_route(request: &Request<Incoming>, routes: &[Route], stopping: &AtomicBool) -> HttpAnswer {
    let state = HttpState { stopping: stopping.load(Ordering::Acquire) };
    match routes.iter().find(|route| route.path == request.uri().path()) {
        Some(route) => (route.answer)(&state),
        None => HttpAnswer::text(404, "404 page not found\n"),
    }
}
