//! Servers for DNS over TLS and over HTTPS that answer every query with an empty reply.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, CertifiedKey, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use upstream::rustls;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Dns,
    Http1,
    Http2,
}

pub struct SecureServer {
    pub addr: SocketAddr,
    pub state: Arc<ServerState>,
    certificate: CertifiedKey<KeyPair>,
    folder: TempDir,
}

/// The queries the server received, and how it behaves.
#[derive(Default)]
pub struct ServerState {
    pub connections: AtomicUsize,
    pub queries: AtomicUsize,
    pub last: std::sync::Mutex<Vec<u8>>,
    /// Close each connection after its first answer.
    pub close: AtomicBool,
    /// Answer 503.
    pub fail: AtomicBool,
}

impl SecureServer {
    pub async fn start(protocol: Protocol) -> SecureServer {
        SecureServer::with(protocol, self_signed(|_| {})).await
    }

    pub async fn with(protocol: Protocol, certificate: CertifiedKey<KeyPair>) -> SecureServer {
        let key = PrivateKeyDer::try_from(certificate.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = match protocol {
            Protocol::Dns => vec![],
            Protocol::Http1 => vec![b"http/1.1".to_vec()],
            Protocol::Http2 => vec![b"h2".to_vec()],
        };
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let state = Arc::new(ServerState::default());
        tokio::spawn({
            let state = Arc::clone(&state);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (acceptor, state) = (acceptor.clone(), Arc::clone(&state));
                    tokio::spawn(async move {
                        let Ok(stream) = acceptor.accept(stream).await else { return };
                        state.connections.fetch_add(1, Ordering::SeqCst);
                        serve(stream, protocol, state).await;
                    });
                }
            }
        });
        SecureServer { addr, state, certificate, folder: tempfile::tempdir().unwrap() }
    }

    /// The self-signed certificate, as a file.
    pub fn ca(&self) -> PathBuf {
        let path = self.folder.path().join("ca.pem");
        std::fs::write(&path, self.certificate.cert.pem()).unwrap();
        path
    }

    pub fn key(&self) -> PathBuf {
        let path = self.folder.path().join("key.pem");
        std::fs::write(&path, self.certificate.signing_key.serialize_pem()).unwrap();
        path
    }
}

/// The parameters of the servers' certificates.
pub fn parameters() -> CertificateParams {
    CertificateParams::new(vec!["127.0.0.1".to_owned(), "dns.test".to_owned()]).unwrap()
}

pub fn self_signed(change: impl FnOnce(&mut CertificateParams)) -> CertifiedKey<KeyPair> {
    let (mut parameters, signing_key) = (parameters(), KeyPair::generate().unwrap());
    change(&mut parameters);
    CertifiedKey { cert: parameters.self_signed(&signing_key).unwrap(), signing_key }
}

impl ServerState {
    fn answer(&self, query: &[u8]) -> Vec<u8> {
        self.queries.fetch_add(1, Ordering::SeqCst);
        *self.last.lock().unwrap() = query.to_vec();
        let mut reply = query.to_vec();
        reply[2] |= 0x80;
        reply[3] |= 0x80;
        reply
    }
}

async fn serve(mut stream: TlsStream<TcpStream>, protocol: Protocol, state: Arc<ServerState>) {
    if protocol == Protocol::Dns {
        while let Ok(length) = stream.read_u16().await {
            let mut query = vec![0; usize::from(length)];
            stream.read_exact(&mut query).await.unwrap();
            let reply = state.answer(&query);
            stream.write_u16(reply.len() as u16).await.unwrap();
            stream.write_all(&reply).await.unwrap();
            stream.flush().await.unwrap();
            if state.close.load(Ordering::SeqCst) {
                let _ = stream.shutdown().await;
                return;
            }
        }
        return;
    }
    let close = state.close.load(Ordering::SeqCst);
    let service = service_fn(move |request| respond(request, Arc::clone(&state)));
    let bytes = TokioIo::new(stream);
    if protocol == Protocol::Http1 {
        let _ = hyper::server::conn::http1::Builder::new()
            .keep_alive(!close)
            .serve_connection(bytes, service)
            .await;
    } else {
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(bytes, service)
            .await;
    }
}

async fn respond(
    request: Request<Incoming>,
    state: Arc<ServerState>,
) -> Result<Response<Full<Bytes>>, std::convert::Infallible> {
    if state.fail.load(Ordering::SeqCst) {
        return Ok(Response::builder().status(503).body(Full::new(Bytes::new())).unwrap());
    }
    assert_eq!(request.uri().path(), "/dns-query");
    assert_eq!(request.headers()["accept"], "application/dns-message");
    let query = match *request.method() {
        Method::GET => {
            let encoded = request.uri().query().unwrap().strip_prefix("dns=").unwrap().to_owned();
            URL_SAFE_NO_PAD.decode(encoded).unwrap()
        }
        _ => {
            assert_eq!(request.headers()["content-type"], "application/dns-message");
            request.into_body().collect().await.unwrap().to_bytes().to_vec()
        }
    };
    Ok(Response::new(Full::new(Bytes::from(state.answer(&query)))))
}
