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
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{HttpAnswer, HttpState, Route, TlsSource};
use crate::{log, runtime};

/// Headers must be here by then.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process was told to stop; the same for all listeners.
pub(crate) type Stopping = Arc<AtomicBool>;

/// What is served on one address.
pub(crate) struct Site {
    pub routes: Vec<Route>,
    /// Over TLS, if this is given.
    pub tls: Option<TlsSource>,
}

/// A listener whose socket is bound but which does not answer yet.
pub(crate) struct HttpBound {
    pub addr: String,
    listener: std::net::TcpListener,
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
        Ok(HttpBound { addr: addr.to_owned(), listener: listener.map_err(named)? })
    }

    pub fn serve(self, site: Site, stopping: &Stopping) -> io::Result<HttpServer> {
        let site = Arc::new(ArcSwap::from_pointee(site));
        let _entered = runtime::handle().enter();
        let listener = TcpListener::from_std(self.listener)?;
        let task = tokio::spawn(accept(listener, site.clone(), stopping.clone()));
        Ok(HttpServer { site, task })
    }
}

/// `:8080` has no host and means every address.
fn resolve(addr: &str) -> io::Result<Option<SocketAddr>> {
    if addr.starts_with(':') {
        return Ok(None);
    }
    addr.to_socket_addrs()?.next().map(Some).ok_or_else(|| io::Error::other("no address found"))
}

fn port_of(addr: &str) -> io::Result<u16> {
    addr.trim_start_matches(':').parse().map_err(|_| io::Error::other("not a port"))
}

/// A listener at work; closed when dropped.
pub(crate) struct HttpServer {
    site: Arc<ArcSwap<Site>>,
    task: JoinHandle<()>,
}

impl HttpServer {
    pub fn replace(&self, site: Site) {
        self.site.store(Arc::new(site));
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, site: Arc<ArcSwap<Site>>, stopping: Stopping) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (site, stopping) = (site.clone(), stopping.clone());
        tokio::spawn(async move {
            let tls = site.load().tls.clone();
            match tls {
                None => converse(stream, site, stopping).await,
                Some(tls) => match shake_hands(stream, tls).await {
                    Ok(stream) => converse(stream, site, stopping).await,
                    Err(error) => log::debug(None, format_args!("HTTPS: {error}")),
                },
            }
        });
    }
}

async fn shake_hands(stream: TcpStream, tls: TlsSource) -> io::Result<TlsStream<TcpStream>> {
    // Certificates are read from files.
    let config = tokio::task::spawn_blocking(move || tls().and_then(|tls| tls.config()));
    let config = config.await.map_err(io::Error::other)?.map_err(io::Error::other)?;
    tokio::time::timeout(PATIENCE, TlsAcceptor::from(config).accept(stream)).await?
}

/// Answers the requests of one connection.
async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, site: Arc<ArcSwap<Site>>, stopping: Stopping) {
    let service = service_fn(move |request| {
        let answer = answer(&request, &site.load().routes, &stopping);
        async move { Ok::<_, Infallible>(answer) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    let _ = serving.await;
}

fn answer(request: &Request<Incoming>, routes: &[Route], stopping: &AtomicBool) -> Response<Full<Bytes>> {
    let state = HttpState { stopping: stopping.load(Ordering::Acquire) };
    let answer = match routes.iter().find(|route| route.path == request.uri().path()) {
        Some(route) => (route.answer)(&state),
        None => HttpAnswer::text(404, "404 page not found\n"),
    };
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = answer.content_type.parse() {
        response.headers_mut().insert(hyper::header::CONTENT_TYPE, value);
    }
    response
}
