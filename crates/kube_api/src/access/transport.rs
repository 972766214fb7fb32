//! The connection to an API server: HTTP/2, on which all requests share one socket, or HTTP/1.1 where there is nothing else.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::http::{Request, Response, Uri};
use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kube::Config;
use kube::client::Body;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tower::{BoxError, Service};

use super::tls::{self, TlsKey};

/// Number of TCP keepalive probes to a silent peer before the kernel closes the connection.
const KEEPALIVE_PROBES: u32 = 3;

/// Idle HTTP/1.1 connections are closed after this time, so that no request uses one that died meanwhile. The pages of a list
/// follow each other faster.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to one server with given certificates; credentials in headers are not its concern.
#[derive(Clone)]
pub(super) struct Transport {
    url: Uri,
    tls: Option<TlsKey>,
    /// Kept so that clusters with the same certificates find it.
    _config: Arc<ClientConfig>,
    http2: HttpClient<Http2Connector, Body>,
    http1: HttpClient<HttpsConnector<HttpConnector>, Body>,
    /// The server has no HTTP/2, or the connection no TLS, with which it would be negotiated.
    is_http1: Arc<AtomicBool>,
}

impl Transport {
    pub(super) fn new(config: &Config, peer_timeout: Duration) -> Result<Self, kube::Error> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(config.connect_timeout);
        // Half of the time idle, the other half for probes; the kernel counts in seconds.
        let silence = (peer_timeout / 2).max(Duration::from_secs(1));
        tcp.set_keepalive(Some(silence));
        tcp.set_keepalive_interval(Some((silence / KEEPALIVE_PROBES).max(Duration::from_secs(1))));
        tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
        // The same for data that was sent and not acknowledged.
        tcp.set_tcp_user_timeout(Some(peer_timeout));
        let key = TlsKey::of(config);
        let shared = tls::client_config(config, key.as_ref())?;
        let name = config.tls_server_name.as_ref().and_then(|name| ServerName::try_from(name.clone()).ok());
        let connector = |protocols: &[&[u8]]| {
            let mut tls = ClientConfig::clone(&shared);
            tls.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
            match &name {
                Some(name) => HttpsConnector::new(
                    tcp.clone(),
                    tls,
                    false,
                    Arc::new(FixedServerNameResolver::new(name.clone())),
                ),
                None => HttpsConnector::new(
                    tcp.clone(),
                    tls,
                    false,
                    Arc::new(DefaultServerNameResolver::default()),
                ),
            }
        };
        let mut http1 = HttpClient::builder(TokioExecutor::new());
        http1.pool_idle_timeout(IDLE_TIMEOUT).pool_timer(TokioTimer::new());
        let mut http2 = HttpClient::builder(TokioExecutor::new());
        // One connection: further requests wait for it instead of opening others. It has no idle timeout: the pool would
        // forget a connection that carries watches only, and open another one.
        http2.http2_only(true).pool_idle_timeout(None::<Duration>).pool_timer(TokioTimer::new());
        // Pings find a dead connection whose peer still acknowledges, such as a load balancer.
        http2.timer(TokioTimer::new()).http2_keep_alive_interval(silence).http2_keep_alive_timeout(silence);
        Ok(Self {
            url: config.cluster_url.clone(),
            http2: http2.build(Http2Connector(connector(&[b"h2", b"http/1.1"]))),
            http1: http1.build(connector(&[b"http/1.1"])),
            is_http1: Arc::new(AtomicBool::new(config.cluster_url.scheme_str() != Some("https"))),
            tls: key,
            _config: shared,
        })
    }

    /// Whether it has the certificates of a reloaded configuration.
    pub(super) fn is_for(&self, config: &Config) -> bool {
        self.url == config.cluster_url && self.tls.is_some() && self.tls == TlsKey::of(config)
    }
}

type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response<Incoming>, BoxError>> + Send>>;

impl Service<Request<Body>> for Transport {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        let (http1, http2, is_http1) = (self.http1.clone(), self.http2.clone(), Arc::clone(&self.is_http1));
        Box::pin(async move {
            if is_http1.load(Ordering::Relaxed) {
                return http1.request(request).await.map_err(BoxError::from);
            }
            let again = copy(&request);
            let e = match http2.request(request).await {
                Ok(response) => return Ok(response),
                Err(e) => e,
            };
            match again.filter(|_| is_no_http2(&e)) {
                Some(request) => {
                    is_http1.store(true, Ordering::Relaxed);
                    http1.request(request).await.map_err(BoxError::from)
                }
                None => Err(e.into()),
            }
        })
    }
}

fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

/// Fails with [`NoHttp2`] if the server does not choose HTTP/2.
#[derive(Clone)]
struct Http2Connector(HttpsConnector<HttpConnector>);

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

impl Service<Uri> for Http2Connector {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move {
            let stream = connecting.await?;
            match stream.connected().is_negotiated_h2() {
                true => Ok(stream),
                false => Err(NoHttp2.into()),
            }
        })
    }
}

#[derive(Debug)]
struct NoHttp2;

impl fmt::Display for NoHttp2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server does not speak HTTP/2")
    }
}

impl std::error::Error for NoHttp2 {}

fn is_no_http2(e: &(dyn std::error::Error + 'static)) -> bool {
    e.is::<NoHttp2>() || e.source().is_some_and(is_no_http2)
}
