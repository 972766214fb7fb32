//! DNS over HTTPS (RFC 8484): one HTTP/2 connection that all queries share, or HTTP/1.1 connections with one query at a
//! time each, if the server does not support HTTP/2.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::dial::{self, Encryption, Endpoint};
use crate::error::Error;
use crate::pool::{Lease, Limits, Pool};
use crate::{Answer, DohMethod, Network, Options, tls};

const TYPE: &str = "application/dns-message";
const PATH: &str = "/dns-query";
/// The maximum size of a DNS message.
const MAX_MESSAGE: usize = 65_535;
/// How long to wait for the reason why a connection ended.
const CLOSE_REASON_TIMEOUT: Duration = Duration::from_millis(100);

type Body = Full<Bytes>;

pub(crate) struct Https {
    endpoint: Endpoint,
    encryption: Encryption,
    /// The name in the server's certificate, or its address.
    host: String,
    expire: Duration,
    http2_connection: Mutex<Option<Http2Connection>>,
    /// Locked while dialing, so that a burst of queries makes one connection and not one each.
    dialing: tokio::sync::Mutex<()>,
    /// The server chose HTTP/1.1.
    is_http1_only: AtomicBool,
    http1_pool: Arc<Pool<Http1Connection>>,
}

#[derive(Clone)]
struct Http2Connection {
    send: http2::SendRequest<Body>,
    local: Option<SocketAddr>,
    used: Instant,
    close_reason: CloseReason,
}

struct Http1Connection {
    send: http1::SendRequest<Body>,
    local: Option<SocketAddr>,
    close_reason: CloseReason,
}

/// Why a connection ended; the error of a request on it does not contain the reason.
#[derive(Clone)]
struct CloseReason(watch::Receiver<Option<String>>);

impl CloseReason {
    /// Runs the connection.
    fn run(connection: impl Future<Output = Result<(), hyper::Error>> + Send + 'static) -> CloseReason {
        let (sender, reason) = watch::channel(None);
        tokio::spawn(async move {
            let ended = connection.await;
            sender.send_replace(Some(ended.map_or_else(|error| innermost(&error), |()| "EOF".to_owned())));
        });
        CloseReason(reason)
    }

    async fn reason(mut self, error: &hyper::Error) -> String {
        let known = timeout(CLOSE_REASON_TIMEOUT, self.0.wait_for(Option::is_some)).await;
        match known {
            Ok(Ok(reason)) => reason.clone().unwrap_or_default(),
            _ => innermost(error),
        }
    }
}

enum Connection {
    Http2(Http2Connection),
    Http1(Lease<Http1Connection>),
}

impl Https {
    pub(crate) fn new(options: &Options, encryption: Encryption, limits: Limits) -> Arc<Https> {
        let mut config = (*encryption.config).clone();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let name = options.server_name.as_deref().map(|name| name.trim_end_matches('.').to_owned());
        Arc::new(Https {
            endpoint: options.endpoint(),
            encryption: Encryption { config: Arc::new(config), name: encryption.name },
            host: name.unwrap_or_else(|| options.addr.to_string()),
            expire: limits.expire,
            http2_connection: Mutex::new(None),
            dialing: tokio::sync::Mutex::new(()),
            is_http1_only: AtomicBool::new(false),
            http1_pool: Pool::new(limits),
        })
    }

    pub(crate) fn close(&self) {
        self.http1_pool.close();
        self.set_http2_connection(None);
    }

    /// Sends one query and reads the reply, with the dial, within `limit`. The reply has the id of the query.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        packet: &[u8],
        method: DohMethod,
        limit: Duration,
    ) -> Result<Answer, Error> {
        let operation = match method {
            DohMethod::Post => "Post",
            DohMethod::Get => "Get",
        };
        let failed = |text: String, timeout| {
            let text = format!("{operation} \"https://{}{PATH}\": {text}", self.endpoint.addr);
            Error::Http { text, timeout }
        };
        let query = timeout(limit, self.query(packet, method));
        let (mut message, local) = match query.await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(failed(error.to_string(), error.is_timeout())),
            Err(_) => {
                // The connection may be dead; the next query must not wait for it as well.
                self.set_http2_connection(None);
                return Err(failed("context deadline exceeded".into(), true));
            }
        };
        // HTTP matches answers to queries, and some servers do not return the id.
        if let (Some(reply_id), Some(id)) = (message.get_mut(..2), packet.get(..2)) {
            reply_id.copy_from_slice(id);
        }
        Ok(Answer { message, network: Network::Tcp, local })
    }

    async fn query(
        self: &Arc<Self>,
        packet: &[u8],
        method: DohMethod,
    ) -> Result<(Vec<u8>, Option<SocketAddr>), Error> {
        let mut existing = self.existing();
        loop {
            let is_existing = existing.is_some();
            let connection = match existing.take() {
                Some(connection) => connection,
                None => self.connect().await?,
            };
            match self.request(connection, packet, method).await {
                Ok(answer) => return check(answer),
                // The server may close an idle connection at any time, and sending a query twice does no harm.
                Err(_) if is_existing => self.set_http2_connection(None),
                Err((error, close_reason)) => return Err(http_error(close_reason.reason(&error).await)),
            }
        }
    }

    /// An open connection, if there is one.
    fn existing(&self) -> Option<Connection> {
        let mut http2_connection = self.http2_connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = &mut *http2_connection {
            if !connection.send.is_closed() {
                connection.used = Instant::now();
                return Some(Connection::Http2(connection.clone()));
            }
            *http2_connection = None;
        }
        drop(http2_connection);
        self.http1_pool.take().map(Connection::Http1)
    }

    async fn connect(self: &Arc<Self>) -> Result<Connection, Error> {
        let _turn;
        if !self.is_http1_only.load(Ordering::Relaxed) {
            _turn = self.dialing.lock().await;
            // Another query may have connected meanwhile.
            if let Some(connection) = self.existing() {
                return Ok(connection);
            }
        }
        let tcp = dial::tcp::connect(&self.endpoint).await?;
        let local = tcp.local_addr().ok();
        let tls = dial::tls::handshake(&self.encryption, tcp).await?;
        let is_http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
        let bytes = TokioIo::new(tls);
        if is_http2 {
            let builder = http2::Builder::new(TokioExecutor::new()).timer(TokioTimer::new()).handshake(bytes);
            let (send, connection) = builder.await.map_err(|error| http_error(innermost(&error)))?;
            let http2_connection = Http2Connection {
                send,
                local,
                used: Instant::now(),
                close_reason: CloseReason::run(connection),
            };
            self.set_http2_connection(Some(http2_connection.clone()));
            self.close_when_idle();
            return Ok(Connection::Http2(http2_connection));
        }
        self.is_http1_only.store(true, Ordering::Relaxed);
        let (send, connection) =
            http1::handshake(bytes).await.map_err(|error| http_error(innermost(&error)))?;
        Ok(Connection::Http1(Lease::new(Http1Connection {
            send,
            local,
            close_reason: CloseReason::run(connection),
        })))
    }

    async fn request(
        self: &Arc<Self>,
        connection: Connection,
        packet: &[u8],
        method: DohMethod,
    ) -> Result<HttpResponse, (hyper::Error, CloseReason)> {
        match connection {
            Connection::Http2(mut http2_connection) => {
                let request = self.build(packet, method, &format!("https://{}", self.host));
                match http2_connection.send.send_request(request).await {
                    Ok(response) => {
                        Ok(HttpResponse { answer: read(response).await, local: http2_connection.local })
                    }
                    Err(error) => Err((error, http2_connection.close_reason)),
                }
            }
            Connection::Http1(mut lease) => {
                let request = self.build(packet, method, "");
                let connection = &mut lease.socket;
                let sent = match connection.send.ready().await {
                    Ok(()) => connection.send.send_request(request).await,
                    Err(error) => Err(error),
                };
                let response = sent.map_err(|error| (error, connection.close_reason.clone()))?;
                let (answer, local) = (read(response).await, connection.local);
                if answer.is_ok() {
                    self.http1_pool.put(lease);
                }
                Ok(HttpResponse { answer, local })
            }
        }
    }

    fn build(&self, packet: &[u8], method: DohMethod, base: &str) -> Request<Body> {
        let (method, uri, body) = match method {
            DohMethod::Post => (Method::POST, format!("{base}{PATH}"), Bytes::copy_from_slice(packet)),
            DohMethod::Get => {
                let encoded = URL_SAFE_NO_PAD.encode(packet);
                (Method::GET, format!("{base}{PATH}?dns={encoded}"), Bytes::new())
            }
        };
        let mut request =
            Request::builder().method(method).uri(uri).header(ACCEPT, TYPE).header(CONTENT_TYPE, TYPE);
        if base.is_empty() {
            request = request.header(HOST, &self.host);
        }
        request.body(Full::new(body)).unwrap_or_default()
    }

    /// Closes the http2_connection connection when it was not used for `expire`.
    fn close_when_idle(self: &Arc<Self>) {
        let https = Arc::downgrade(self);
        let expire = self.expire;
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(expire.max(Duration::from_millis(10))).await;
                let Some(https) = https.upgrade() else { return };
                let mut http2_connection =
                    https.http2_connection.lock().unwrap_or_else(PoisonError::into_inner);
                match &*http2_connection {
                    Some(connection) if connection.used.elapsed() < expire => {}
                    _ => {
                        *http2_connection = None;
                        return;
                    }
                }
            }
        });
    }

    fn set_http2_connection(&self, connection: Option<Http2Connection>) {
        *self.http2_connection.lock().unwrap_or_else(PoisonError::into_inner) = connection;
    }
}

/// A response: its body or an error, and the local address.
struct HttpResponse {
    answer: Result<Vec<u8>, String>,
    local: Option<SocketAddr>,
}

fn check(response: HttpResponse) -> Result<(Vec<u8>, Option<SocketAddr>), Error> {
    response.answer.map(|message| (message, response.local)).map_err(http_error)
}

async fn read(response: Response<Incoming>) -> Result<Vec<u8>, String> {
    if response.status() != StatusCode::OK {
        return Err(format!("unexpected HTTP status {}", response.status()));
    }
    match Limited::new(response.into_body(), MAX_MESSAGE).collect().await {
        Ok(body) => Ok(body.to_bytes().into()),
        Err(error) => Err(error.to_string()),
    }
}

/// The cause of an error of the HTTP library, whose own text only names the operation.
fn innermost(error: &hyper::Error) -> String {
    let mut error: &(dyn std::error::Error + 'static) = error;
    loop {
        if let Some(alert) = error.downcast_ref().and_then(tls::alert) {
            return alert.to_string();
        }
        match error.source() {
            Some(source) => error = source,
            None => return error.to_string(),
        }
    }
}

fn http_error(text: String) -> Error {
    Error::Http { text, timeout: false }
}
