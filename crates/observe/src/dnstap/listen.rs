//! Readers that connect to us. Each gets everything from then on, and is let go when it cannot keep up.

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

use super::connection::{Bytes, Endpoint, in_time, words, write};
use super::frames;
use super::output::{LOG, Source, Watch};

/// Between two tries to listen on an address that is taken, and after an accept that failed.
const RETRY: Duration = Duration::from_secs(1);
/// Batches a reader may be behind before it is let go.
const BEHIND: usize = 64;

#[derive(Clone, Debug)]
pub struct Listen {
    pub on: Endpoint,
    pub tls: Option<Identity>,
    /// Clients need not show a certificate.
    pub skip_verify: bool,
}

/// Files in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Who signs the certificates of clients; without it nobody is asked for one.
    pub clients: Option<PathBuf>,
}

enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
    Tls(TcpListener, TlsAcceptor),
}

type Frames = Arc<Vec<u8>>;

impl Listen {
    pub(super) async fn run(self, source: &mut Source) {
        let Some(listener) = self.bind(source).await else { return };
        let (all, _) = broadcast::channel(BEHIND);
        let watch = Arc::clone(&source.watch);
        {
            // One task, so that a panic in either half closes the socket, which the next run can bind again.
            let accepting = accept(listener, all.clone(), Arc::clone(&watch));
            tokio::select! {
                () = accepting => {}
                () = pass_on(source, &all) => {}
            }
        }
        // The readers' streams end with their channel; the last one gone ends the wait.
        drop(all);
        while watch.readers() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Tries until it works or the output ends; None then, and when there is nothing to listen with.
    async fn bind(&self, source: &mut Source) -> Option<Listener> {
        let mut complained = false;
        loop {
            match self.open().await {
                Ok(Some(listener)) => return Some(listener),
                Ok(None) => {
                    LOG.warning("TLS listener requires cert and key files");
                    return None;
                }
                Err(error) if !complained => {
                    LOG.error(format_args!("Failed to start dnstap listener: {error}"));
                    complained = true;
                }
                Err(_) => {}
            }
            if tokio::time::timeout(RETRY, source.ended()).await.is_ok() {
                return None;
            }
        }
    }

    async fn open(&self) -> Result<Option<Listener>, String> {
        let taken = |error: io::Error| format!("listen {}: bind: {}", self.on, words(&error));
        Ok(Some(match &self.on {
            Endpoint::Unix(path) => Listener::Unix(UnixListener::bind(path).map_err(taken)?, path.clone()),
            Endpoint::Tcp(address) => Listener::Tcp(TcpListener::bind(address).await.map_err(taken)?),
            Endpoint::Tls(address) => {
                let Some(identity) = &self.tls else { return Ok(None) };
                let config = identity.config(self.skip_verify)?;
                let listener = TcpListener::bind(address).await.map_err(taken)?;
                Listener::Tls(listener, TlsAcceptor::from(Arc::new(config)))
            }
        }))
    }
}

impl Identity {
    pub(super) fn config(&self, skip_verify: bool) -> Result<ServerConfig, String> {
        let unreadable = |path: &Path, error: &dyn Display| format!("{}: {error}", path.display());
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?)
            .map_err(|error| unreadable(&self.key, &error))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match &self.clients {
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

/// Gives every batch to all readers, until the output ends.
async fn pass_on(source: &mut Source, all: &broadcast::Sender<Frames>) {
    while let Some(batch) = source.next().await {
        // An error means that nobody is there.
        let _ = all.send(Arc::new(batch.bytes));
        source.pause().await;
    }
}

async fn accept(listener: Listener, all: broadcast::Sender<Frames>, watch: Arc<Watch>) {
    loop {
        let accepted: io::Result<Box<dyn Bytes>> = match &listener {
            Listener::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Box::new(stream) as _),
            Listener::Tcp(listener) | Listener::Tls(listener, _) => {
                listener.accept().await.map(|(stream, _)| Box::new(stream) as _)
            }
        };
        match accepted {
            Ok(bytes) => {
                let acceptor = match &listener {
                    Listener::Tls(_, acceptor) => Some(acceptor.clone()),
                    _ => None,
                };
                let serving = serve(bytes, acceptor, all.clone(), Arc::clone(&watch));
                tokio::spawn(supervise::step_async("dnstap-reader", serving));
            }
            Err(error) => {
                LOG.warning(format_args!("Error accepting dnstap connection: {}", words(&error)));
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // The name of a socket outlives it, and would keep the next one away.
            let _ = std::fs::remove_file(path);
        }
    }
}

async fn serve(
    bytes: Box<dyn Bytes>,
    acceptor: Option<TlsAcceptor>,
    all: broadcast::Sender<Frames>,
    watch: Arc<Watch>,
) {
    // Before the handshake: a reader that was told START misses nothing from there on.
    let mut frames = all.subscribe();
    let _reader = watch.enter();
    drop(all);
    let begun = in_time(async {
        let mut bytes: Box<dyn Bytes> = match acceptor {
            Some(acceptor) => Box::new(acceptor.accept(bytes).await?),
            None => bytes,
        };
        frames::shake_hands(&mut bytes).await?;
        Ok(bytes)
    });
    let bytes = match begun.await {
        Ok(bytes) => bytes,
        Err(error) => {
            LOG.warning(format_args!("Error creating encoder for dnstap client: {}", words(&error)));
            return;
        }
    };
    relay(bytes, &mut frames).await;
}

/// Passes on what comes, until the reader hangs up or falls behind, or nothing comes any more.
async fn relay(bytes: Box<dyn Bytes>, frames: &mut broadcast::Receiver<Frames>) {
    use tokio::io::AsyncReadExt;
    let (mut read, mut sink) = tokio::io::split(bytes);
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
                let mut bytes = read.unsplit(sink);
                let _ = in_time(frames::finish(&mut bytes)).await;
                return;
            }
        }
    }
}
