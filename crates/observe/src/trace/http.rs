//! HTTP POST over one kept-alive connection.

use std::fmt;
use std::io;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// `http://HOST[:PORT]/PATH`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    is_https: bool,
    /// As written in the URL.
    authority: String,
    path: String,
}

impl Url {
    /// None unless it starts with `http://` or `https://`.
    pub fn parse(text: &str) -> Option<Url> {
        let lower = text.to_ascii_lowercase();
        let (is_https, start) = if lower.starts_with("http://") {
            (false, 7)
        } else if lower.starts_with("https://") {
            (true, 8)
        } else {
            return None;
        };
        let rest = &text[start..];
        let slash = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(slash);
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Some(Url { is_https, authority: authority.to_owned(), path })
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn set_path(&mut self, path: &str) {
        path.clone_into(&mut self.path);
    }

    /// Host and port to connect to.
    fn peer(&self) -> (&str, String) {
        let authority = self.authority.rsplit_once('@').map_or(&*self.authority, |(_, host)| host);
        let port = if self.is_https { "443" } else { "80" };
        match golang::split_host_port(authority) {
            Ok((host, "")) => (host, port.to_owned()),
            Ok((host, port)) => (host, port.to_owned()),
            Err(_) => (authority.trim_start_matches('[').trim_end_matches(']'), port.to_owned()),
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

type Connection = SendRequest<Full<Bytes>>;

pub(super) struct Client {
    url: Url,
    /// Created with the first connection: reading the system's root certificates is slow.
    tls: Option<TlsConnector>,
    connection: Option<Connection>,
}

impl Client {
    pub fn new(url: Url) -> Client {
        Client { url, tls: None, connection: None }
    }

    /// Returns the status code.
    pub async fn post(&mut self, content_type: &str, body: Vec<u8>) -> Result<u16, String> {
        let request = Request::post(self.url.path())
            .header(HOST, &self.url.authority)
            .header(CONTENT_TYPE, content_type)
            // Proxies that trace HTTP must not trace this request, or traces would cause traces.
            .header("b3", "0")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| error.to_string())?;
        // The server may have closed the connection since the last request.
        let reusable = match self.connection.take() {
            Some(mut connection) => connection.ready().await.is_ok().then_some(connection),
            None => None,
        };
        let mut connection = match reusable {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let response = connection.send_request(request).await.map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        if response.into_body().collect().await.is_ok() {
            self.connection = Some(connection);
        }
        Ok(status)
    }

    async fn connect(&mut self) -> Result<Connection, String> {
        let (host, port) = self.url.peer();
        let failed =
            |error: io::Error| format!("dial tcp {host}:{port}: connect: {}", golang::system_error(&error));
        let stream = TcpStream::connect(format!("{}:{port}", bracketed(host))).await.map_err(failed)?;
        let _ = stream.set_nodelay(true);
        if !self.url.is_https {
            return start_http(stream).await;
        }
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        let connector = match &self.tls {
            Some(connector) => connector.clone(),
            None => TlsConnector::from(Arc::new(upstream::tls_config(&[])?)),
        };
        let tls = connector.connect(name, stream).await.map_err(|error| format!("tls: {error}"))?;
        self.tls = Some(connector);
        start_http(tls).await
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

async fn start_http(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<Connection, String> {
    let (send, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    // Ends when the sender is dropped or the peer closes; the next request notices both.
    tokio::spawn(supervise::step_async("trace-connection", connection));
    Ok(send)
}
