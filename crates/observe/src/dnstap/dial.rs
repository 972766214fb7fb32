//! Dial mode: one connection from this process to a reader.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::connection::{Endpoint, Stream, go_error, with_timeout, write};
use super::frames;
use super::output::{LOG, QueueReceiver};

/// Pause between two failed dials.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct Dial {
    pub endpoint: Endpoint,
    /// Accepts any server certificate.
    pub skip_verify: bool,
    /// SO_SNDBUF of a TCP connection, in octets.
    pub write_buffer: usize,
}

/// Why a connection ended.
enum End {
    /// The output stopped, and everything was sent.
    Stopped,
    /// The reader closed the connection or did not accept data in time.
    Disconnected,
}

impl Dial {
    /// Sends until the output stops. Messages stay in the queue while the reader is disconnected.
    pub(super) async fn run(self, queue: &mut QueueReceiver) {
        let tls = match self.endpoint {
            Endpoint::Tls(_) => self.tls().map(Some),
            _ => Ok(None),
        };
        let mut logged = false;
        loop {
            match self.connect(tls.as_ref()).await {
                Ok(stream) => {
                    logged = false;
                    if let End::Stopped = send(stream, queue).await {
                        return;
                    }
                }
                Err(error) => {
                    if !logged {
                        LOG.error(format_args!("No connection to dnstap endpoint: {error}"));
                        logged = true;
                    }
                    if tokio::time::timeout(RETRY_INTERVAL, queue.stopped()).await.is_ok() {
                        return;
                    }
                }
            }
        }
    }

    async fn connect(&self, tls: Result<&Option<TlsConnector>, &String>) -> Result<Box<dyn Stream>, String> {
        let tls = tls.map_err(String::clone)?;
        let mut stream = with_timeout(self.dial(tls.as_ref()))
            .await
            .map_err(|error| format!("dial {}: connect: {}", self.endpoint, go_error(&error)))?;
        with_timeout(frames::handshake(&mut stream)).await.map_err(|error| go_error(&error))?;
        Ok(stream)
    }

    async fn dial(&self, tls: Option<&TlsConnector>) -> io::Result<Box<dyn Stream>> {
        match &self.endpoint {
            Endpoint::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
            Endpoint::Tcp(address) | Endpoint::Tls(address) => {
                let (host, _) = golang::split_host_port(address).map_err(io::Error::other)?;
                let stream = self.tcp(address).await?;
                let Some(connector) = tls else { return Ok(Box::new(stream)) };
                let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
                Ok(Box::new(connector.connect(name, stream).await?))
            }
        }
    }

    async fn tcp(&self, address: &str) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        // Nagle's algorithm stays on: it fills packets. Neither option is worth failing for.
        let _ = socket2::SockRef::from(&stream).set_send_buffer_size(self.write_buffer);
        let _ = stream.set_nodelay(false);
        Ok(stream)
    }

    /// Called once: reading the system's root certificates is slow.
    fn tls(&self) -> Result<TlsConnector, String> {
        let mut config = upstream::tls_config(&[])?;
        if self.skip_verify {
            let provider = Arc::clone(config.crypto_provider());
            config.dangerous().set_certificate_verifier(Arc::new(NoVerification(provider)));
        }
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// Sends batches until the output stops or the reader disconnects.
async fn send(stream: Box<dyn Stream>, queue: &mut QueueReceiver) -> End {
    let (mut read, mut sink) = tokio::io::split(stream);
    loop {
        let batch = tokio::select! {
            batch = queue.next() => batch,
            // A reader sends nothing before STOP; a byte or EOF from it ends the stream.
            _ = read.read_u8() => return End::Disconnected,
        };
        let Some(batch) = batch else {
            let mut stream = read.unsplit(sink);
            let _ = with_timeout(frames::finish(&mut stream)).await;
            return End::Stopped;
        };
        if write(&mut sink, &batch.bytes).await.is_err() {
            queue.lose_in_flight();
            return End::Disconnected;
        }
        queue.pause().await;
    }
}

/// `skipverify`: accepts any certificate whose key the server has.
#[derive(Debug)]
struct NoVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
