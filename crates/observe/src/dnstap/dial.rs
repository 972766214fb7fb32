//! A connection of ours to a reader.

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

use super::connection::{Bytes, Endpoint, in_time, words, write};
use super::frames;
use super::output::{LOG, Source};

/// Between two dials of a reader that is away.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct Dial {
    pub to: Endpoint,
    /// Takes any certificate.
    pub skip_verify: bool,
    /// Octets the system may hold back for a TCP connection.
    pub write_buffer: usize,
}

/// How a connection came to its end.
enum End {
    /// Everything is said.
    Ours,
    /// The reader is gone.
    Theirs,
}

impl Dial {
    /// Sends until the output ends. What comes while the reader is away waits in the queue.
    pub(super) async fn run(self, source: &mut Source) {
        let tls = match self.to {
            Endpoint::Tls(_) => self.tls().map(Some),
            _ => Ok(None),
        };
        let mut complained = false;
        loop {
            match self.connect(tls.as_ref()).await {
                Ok(bytes) => {
                    complained = false;
                    if let End::Ours = send(bytes, source).await {
                        return;
                    }
                }
                Err(error) => {
                    if !complained {
                        LOG.error(format_args!("No connection to dnstap endpoint: {error}"));
                        complained = true;
                    }
                    if tokio::time::timeout(RETRY, source.ended()).await.is_ok() {
                        return;
                    }
                }
            }
        }
    }

    async fn connect(&self, tls: Result<&Option<TlsConnector>, &String>) -> Result<Box<dyn Bytes>, String> {
        let tls = tls.map_err(String::clone)?;
        let mut bytes = in_time(self.dial(tls.as_ref()))
            .await
            .map_err(|error| format!("dial {}: connect: {}", self.to, words(&error)))?;
        in_time(frames::shake_hands(&mut bytes)).await.map_err(|error| words(&error))?;
        Ok(bytes)
    }

    async fn dial(&self, tls: Option<&TlsConnector>) -> io::Result<Box<dyn Bytes>> {
        match &self.to {
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
        // Batches are large; more of them in one packet is what a reader wants. Neither is worth failing for.
        let _ = socket2::SockRef::from(&stream).set_send_buffer_size(self.write_buffer);
        let _ = stream.set_nodelay(false);
        Ok(stream)
    }

    /// Reads the system's roots, which is slow enough to be done once.
    fn tls(&self) -> Result<TlsConnector, String> {
        let mut config = upstream::tls_config(&[])?;
        if self.skip_verify {
            let provider = Arc::clone(config.crypto_provider());
            config.dangerous().set_certificate_verifier(Arc::new(TrustAnybody(provider)));
        }
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// Sends what comes until either side has had enough.
async fn send(bytes: Box<dyn Bytes>, source: &mut Source) -> End {
    let (mut read, mut sink) = tokio::io::split(bytes);
    loop {
        let batch = tokio::select! {
            batch = source.next() => batch,
            // A reader says nothing before we stop; if it does, or hangs up, this stream is over.
            _ = read.read_u8() => return End::Theirs,
        };
        let Some(batch) = batch else {
            let mut bytes = read.unsplit(sink);
            let _ = in_time(frames::finish(&mut bytes)).await;
            return End::Ours;
        };
        if write(&mut sink, &batch.bytes).await.is_err() {
            source.lose_taken();
            return End::Theirs;
        }
        source.pause().await;
    }
}

/// `skipverify`: whoever holds the key of the certificate it shows.
#[derive(Debug)]
struct TrustAnybody(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAnybody {
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
