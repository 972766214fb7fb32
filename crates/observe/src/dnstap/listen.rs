//! Listen mode: readers connect to this process. Each receives every message from then on and is disconnected when it
//! cannot keep up.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::broadcast;
use tokio_rustls::TlsAcceptor;

use super::connection::{Endpoint, Stream, go_error, with_timeout, write};
use super::frames;
use super::output::{LOG, QueueReceiver, SharedState};

/// Pause after a failed bind or accept.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Batches a reader may lag behind before it is disconnected.
const MAX_LAG: usize = 64;

#[derive(Clone, Debug)]
pub struct Listen {
    pub endpoint: Endpoint,
    pub tls: Option<TlsFiles>,
    /// Readers need not present a certificate.
    pub skip_verify: bool,
}

/// PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// CA of the readers' certificates; without it none is requested.
    pub client_ca: Option<PathBuf>,
}

enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
    Tls(TcpListener, TlsAcceptor),
}

type Frames = Arc<Vec<u8>>;

impl Listen {
    pub(super) async fn run(self, queue: &mut QueueReceiver) {
        let Some(listener) = self.bind(queue).await else { return };
        let (batches, _) = broadcast::channel(MAX_LAG);
        let shared = Arc::clone(&queue.shared);
        {
            // In one task, so that a panic in either half closes the socket and the next run can bind it again.
            let accepting = accept(listener, batches.clone(), Arc::clone(&shared));
            tokio::select! {
                () = accepting => {}
                () = publish(queue, &batches) => {}
            }
        }
        // Dropping the channel ends the readers' streams.
        drop(batches);
        while shared.readers() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Retries until the bind succeeds; None when the output stops or the TLS files are missing.
    async fn bind(&self, queue: &mut QueueReceiver) -> Option<Listener> {
        let mut logged = false;
        loop {
            match self.open().await {
                Ok(Some(listener)) => return Some(listener),
                Ok(None) => {
                    LOG.warning("TLS listener requires cert and key files");
                    return None;
                }
                Err(error) if !logged => {
                    LOG.error(format_args!("Failed to start dnstap listener: {error}"));
                    logged = true;
                }
                Err(_) => {}
            }
            if tokio::time::timeout(RETRY_INTERVAL, queue.stopped()).await.is_ok() {
                return None;
            }
        }
    }

    async fn open(&self) -> Result<Option<Listener>, String> {
        let failed = |error: io::Error| format!("listen {}: bind: {}", self.endpoint, go_error(&error));
        Ok(Some(match &self.endpoint {
            Endpoint::Unix(path) => Listener::Unix(UnixListener::bind(path).map_err(failed)?, path.clone()),
            Endpoint::Tcp(address) => Listener::Tcp(TcpListener::bind(address).await.map_err(failed)?),
            Endpoint::Tls(address) => {
                let Some(files) = &self.tls else { return Ok(None) };
                let config = files.config(self.skip_verify)?;
                let listener = TcpListener::bind(address).await.map_err(failed)?;
                Listener::Tls(listener, TlsAcceptor::from(Arc::new(config)))
            }
        }))
    }
}

impl TlsFiles {
    pub(super) fn config(&self, skip_verify: bool) -> Result<ServerConfig, String> {
        let unreadable = |path: &Path, error: &dyn Display| format!("{}: {error}", path.display());
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?)
            .map_err(|error| unreadable(&self.key, &error))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(ca) => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(certificates(ca)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = if skip_verify { verifier.allow_unauthenticated() } else { verifier };
                builder.with_client_cert_verifier(verifier.build().map_err(|error| unreadable(ca, &error))?)
            }
        };
        builder.with_single_cert(chain, key).map_err(|error| error.to_string())
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_slice_iter(&read(path)?)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    files::read(path, files::DEFAULT_LIMIT)
        .map_err(|error| format!("{}: {}", path.display(), golang::system_error(&error)))
}

/// Sends every batch to all readers until the output stops.
async fn publish(queue: &mut QueueReceiver, batches: &broadcast::Sender<Frames>) {
    while let Some(batch) = queue.next().await {
        // An error means that there are no readers.
        let _ = batches.send(Arc::new(batch.bytes));
        queue.pause().await;
    }
}

async fn accept(listener: Listener, batches: broadcast::Sender<Frames>, shared: Arc<SharedState>) {
    loop {
        let accepted: io::Result<Box<dyn Stream>> = match &listener {
            Listener::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Box::new(stream) as _),
            Listener::Tcp(listener) | Listener::Tls(listener, _) => {
                listener.accept().await.map(|(stream, _)| Box::new(stream) as _)
            }
        };
        match accepted {
            Ok(stream) => {
                let acceptor = match &listener {
                    Listener::Tls(_, acceptor) => Some(acceptor.clone()),
                    _ => None,
                };
                let serving = serve(stream, acceptor, batches.clone(), Arc::clone(&shared));
                tokio::spawn(supervise::step_async("dnstap-reader", serving));
            }
            Err(error) => {
                LOG.warning(format_args!("Error accepting dnstap connection: {}", go_error(&error)));
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // The file outlives its socket and would make the next bind fail.
            let _ = std::fs::remove_file(path);
        }
    }
}

async fn serve(
    stream: Box<dyn Stream>,
    acceptor: Option<TlsAcceptor>,
    batches: broadcast::Sender<Frames>,
    shared: Arc<SharedState>,
) {
    // Before the handshake, so that a reader receives everything after START.
    let mut frames = batches.subscribe();
    let _reader = shared.add_reader();
    drop(batches);
    let connected = with_timeout(async {
        let mut stream: Box<dyn Stream> = match acceptor {
            Some(acceptor) => Box::new(acceptor.accept(stream).await?),
            None => stream,
        };
        frames::handshake(&mut stream).await?;
        Ok(stream)
    });
    let stream = match connected.await {
        Ok(stream) => stream,
        Err(error) => {
            LOG.warning(format_args!("Error creating encoder for dnstap client: {}", go_error(&error)));
            return;
        }
    };
    relay(stream, &mut frames).await;
}

/// Forwards batches until the reader disconnects, lags too far behind, or the channel closes.
async fn relay(stream: Box<dyn Stream>, frames: &mut broadcast::Receiver<Frames>) {
    use tokio::io::AsyncReadExt;
    let (mut read, mut sink) = tokio::io::split(stream);
    loop {
        let batch = tokio::select! {
            batch = frames.recv() => batch,
            _ = read.read_u8() => return,
        };
        match batch {
            Ok(batch) => {
                if write(&mut sink, &batch).await.is_err() {
                    return;
                }
            }
            Err(_) => {
                let mut stream = read.unsplit(sink);
                let _ = with_timeout(frames::finish(&mut stream)).await;
                return;
            }
        }
    }
}
