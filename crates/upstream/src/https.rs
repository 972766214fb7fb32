//! DNS over HTTPS (RFC 8484): one HTTP/2 connection that all queries share, or HTTP/1.1 ones, one query at a time
//! each, where the server speaks nothing newer.

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

use crate::error::Error;
use crate::pool::{Lease, Limits, Pool};
use crate::question::{Fit, Question};
use crate::stream::{self, Encryption};
use crate::upstream::Heard;
use crate::{Answer, DohMethod, Network, Options, tls};

const TYPE: &str = "application/dns-message";
const PATH: &str = "/dns-query";
/// No message is longer, whatever the server says.
const MOST: usize = 65_535;
/// A connection that broke off knows why a moment later.
const MOMENT: Duration = Duration::from_millis(100);

type Body = Full<Bytes>;

pub(crate) struct Https {
    encryption: Encryption,
    /// What the server is called: the name in its certificate, or its address.
    host: String,
    expire: Duration,
    shared: Mutex<Option<Shared>>,
    /// Held while dialing, so that a burst of queries makes one connection and not one each.
    dialing: tokio::sync::Mutex<()>,
    /// The server has shown that it does not speak HTTP/2.
    is_old: AtomicBool,
    single: Arc<Pool<Single>>,
}

#[derive(Clone)]
struct Shared {
    send: http2::SendRequest<Body>,
    local: Option<SocketAddr>,
    used: Instant,
    end: End,
}

struct Single {
    send: http1::SendRequest<Body>,
    local: Option<SocketAddr>,
    end: End,
}

/// Why a connection ended, as soon as it has; a request that goes down with it only knows that it did.
#[derive(Clone)]
struct End(watch::Receiver<Option<String>>);

impl End {
    /// Runs the connection.
    fn of(connection: impl Future<Output = Result<(), hyper::Error>> + Send + 'static) -> End {
        let (tell, why) = watch::channel(None);
        tokio::spawn(async move {
            let ended = connection.await;
            tell.send_replace(Some(ended.map_or_else(|error| innermost(&error), |()| "EOF".to_owned())));
        });
        End(why)
    }

    async fn why(mut self, error: &hyper::Error) -> String {
        let known = timeout(MOMENT, self.0.wait_for(Option::is_some)).await;
        match known {
            Ok(Ok(why)) => why.clone().unwrap_or_default(),
            _ => innermost(error),
        }
    }
}

enum Connection {
    Shared(Shared),
    Single(Lease<Single>),
}

impl Https {
    pub(crate) fn new(options: &Options, encryption: Encryption, limits: Limits) -> Arc<Https> {
        let mut config = (*encryption.config).clone();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let name = options.server_name.as_deref().map(|name| name.trim_end_matches('.').to_owned());
        Arc::new(Https {
            encryption: Encryption { config: Arc::new(config), name: encryption.name },
            host: name.unwrap_or_else(|| options.addr.to_string()),
            expire: limits.expire,
            shared: Mutex::new(None),
            dialing: tokio::sync::Mutex::new(()),
            is_old: AtomicBool::new(false),
            single: Pool::new(limits),
        })
    }

    pub(crate) fn close(&self) {
        self.single.close();
        self.set_shared(None);
    }

    /// One query within `limit`, from the dial to the last octet.
    pub(crate) async fn exchange(
        self: &Arc<Self>,
        options: &Options,
        question: &Question<'_>,
        method: DohMethod,
        limit: Duration,
    ) -> Result<Heard, Error> {
        let what = match method {
            DohMethod::Post => "Post",
            DohMethod::Get => "Get",
        };
        let told = |text: String, timeout| {
            let text = format!("{what} \"https://{}{PATH}\": {text}", options.addr);
            Error::Http { text, timeout }
        };
        let asked = timeout(limit, self.ask(options, question, method));
        let (mut message, local) = match asked.await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(told(error.to_string(), error.is_timeout())),
            Err(_) => {
                // The connection may be as dead as the query; the next one must not wait for it as well.
                self.set_shared(None);
                return Err(told("context deadline exceeded".into(), true));
            }
        };
        // HTTP says which answer belongs to which query, and some servers forget the id.
        if let (Some(place), Some(id)) = (message.get_mut(..2), question.packet().get(..2)) {
            place.copy_from_slice(id);
        }
        match question.judge(&mut message, true) {
            Fit::Stray | Fit::Broken => Err(Error::Malformed),
            Fit::WrongQuestion => Err(Error::WrongQuestion),
            Fit::Answer(rcode) => {
                question.restore(&mut message);
                Ok(Heard { answer: Answer { message, network: Network::Tcp, local }, rcode })
            }
        }
    }

    async fn ask(
        self: &Arc<Self>,
        options: &Options,
        question: &Question<'_>,
        method: DohMethod,
    ) -> Result<(Vec<u8>, Option<SocketAddr>), Error> {
        let mut kept = self.kept();
        loop {
            let is_kept = kept.is_some();
            let connection = match kept.take() {
                Some(connection) => connection,
                None => self.connect(options).await?,
            };
            match self.request(connection, question, method).await {
                Ok(answer) => return check(answer),
                // The server may close an idle connection at any time, and asking twice does no harm.
                Err(_) if is_kept => self.set_shared(None),
                Err((error, end)) => return Err(plain(end.why(&error).await)),
            }
        }
    }

    /// A connection that is there already.
    fn kept(&self) -> Option<Connection> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = &mut *shared {
            if !connection.send.is_closed() {
                connection.used = Instant::now();
                return Some(Connection::Shared(connection.clone()));
            }
            *shared = None;
        }
        drop(shared);
        self.single.take().map(Connection::Single)
    }

    async fn connect(self: &Arc<Self>, options: &Options) -> Result<Connection, Error> {
        let _turn;
        if !self.is_old.load(Ordering::Relaxed) {
            _turn = self.dialing.lock().await;
            // Somebody else may have connected while we waited.
            if let Some(connection) = self.kept() {
                return Ok(connection);
            }
        }
        let tcp = stream::connect(options).await?;
        let local = tcp.local_addr().ok();
        let tls = stream::handshake(&self.encryption, tcp).await?;
        let is_http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
        let bytes = TokioIo::new(tls);
        if is_http2 {
            let builder = http2::Builder::new(TokioExecutor::new()).timer(TokioTimer::new()).handshake(bytes);
            let (send, connection) = builder.await.map_err(|error| plain(innermost(&error)))?;
            let shared = Shared { send, local, used: Instant::now(), end: End::of(connection) };
            self.set_shared(Some(shared.clone()));
            self.close_when_idle();
            return Ok(Connection::Shared(shared));
        }
        self.is_old.store(true, Ordering::Relaxed);
        let (send, connection) = http1::handshake(bytes).await.map_err(|error| plain(innermost(&error)))?;
        Ok(Connection::Single(Lease::new(Single { send, local, end: End::of(connection) })))
    }

    async fn request(
        self: &Arc<Self>,
        connection: Connection,
        question: &Question<'_>,
        method: DohMethod,
    ) -> Result<Asked, (hyper::Error, End)> {
        match connection {
            Connection::Shared(mut shared) => {
                let request = self.build(question, method, &format!("https://{}", self.host));
                match shared.send.send_request(request).await {
                    Ok(response) => Ok(Asked { answer: read(response).await, local: shared.local }),
                    Err(error) => Err((error, shared.end)),
                }
            }
            Connection::Single(mut lease) => {
                let request = self.build(question, method, "");
                let single = &mut lease.socket;
                let sent = match single.send.ready().await {
                    Ok(()) => single.send.send_request(request).await,
                    Err(error) => Err(error),
                };
                let response = sent.map_err(|error| (error, single.end.clone()))?;
                let (answer, local) = (read(response).await, single.local);
                if answer.is_ok() {
                    self.single.give(lease);
                }
                Ok(Asked { answer, local })
            }
        }
    }

    fn build(&self, question: &Question<'_>, method: DohMethod, base: &str) -> Request<Body> {
        let packet = question.packet();
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

    /// Lets go of the shared connection when nobody used it for as long as sockets are kept.
    fn close_when_idle(self: &Arc<Self>) {
        let https = Arc::downgrade(self);
        let expire = self.expire;
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(expire.max(Duration::from_millis(10))).await;
                let Some(https) = https.upgrade() else { return };
                let mut shared = https.shared.lock().unwrap_or_else(PoisonError::into_inner);
                match &*shared {
                    Some(connection) if connection.used.elapsed() < expire => {}
                    _ => {
                        *shared = None;
                        return;
                    }
                }
            }
        });
    }

    fn set_shared(&self, connection: Option<Shared>) {
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = connection;
    }
}

/// A response to a request: its body, or what is wrong with it.
struct Asked {
    answer: Result<Vec<u8>, String>,
    local: Option<SocketAddr>,
}

fn check(asked: Asked) -> Result<(Vec<u8>, Option<SocketAddr>), Error> {
    asked.answer.map(|message| (message, asked.local)).map_err(plain)
}

async fn read(response: Response<Incoming>) -> Result<Vec<u8>, String> {
    if response.status() != StatusCode::OK {
        return Err(format!("unexpected HTTP status {}", response.status()));
    }
    match Limited::new(response.into_body(), MOST).collect().await {
        Ok(body) => Ok(body.to_bytes().into()),
        Err(error) => Err(error.to_string()),
    }
}

/// What is behind an error of the HTTP library, which by itself only tells what it was doing.
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

fn plain(text: String) -> Error {
    Error::Http { text, timeout: false }
}
