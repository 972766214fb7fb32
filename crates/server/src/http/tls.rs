//! HTTPS for the small answers: who we are, and whom we let in.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, SupportedProtocolVersion};

/// Gives what a listener needs for TLS. Asked for every connection, so that certificates may change.
pub type TlsSource = Arc<dyn Fn() -> Result<Tls, String> + Send + Sync>;

/// A server's side of TLS, in PEM.
#[derive(Clone, Debug)]
pub struct Tls {
    pub certificates: Vec<u8>,
    pub key: Vec<u8>,
    pub clients: Clients,
    /// TLS 1.2 is spoken.
    pub tls12: bool,
    /// TLS 1.3 is spoken.
    pub tls13: bool,
}

/// Whose requests are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clients {
    Anyone,
    /// Certificates are not asked for, but must be signed by one of these if shown.
    VerifiedIfGiven(Vec<u8>),
    /// Only with a certificate signed by one of these.
    Verified(Vec<u8>),
}

impl Tls {
    /// Checks everything and makes it ready for use.
    pub fn config(&self) -> Result<Arc<ServerConfig>, String> {
        let pair = |error: &dyn std::fmt::Display| format!("failed to load X509KeyPair: {error}");
        let chain = certificates(&self.certificates).map_err(|error| pair(&error))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| pair(&error))?;
        let versions: Vec<&'static SupportedProtocolVersion> =
            [(self.tls12, &TLS12), (self.tls13, &TLS13)].into_iter().filter(|v| v.0).map(|v| v.1).collect();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| error.to_string())?;
        let builder = match self.verifier(provider)? {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| pair(&error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn verifier(
        &self,
        provider: Arc<rustls::crypto::CryptoProvider>,
    ) -> Result<Option<Arc<dyn ClientCertVerifier>>, String> {
        let (pem, optional) = match &self.clients {
            Clients::Anyone => return Ok(None),
            Clients::VerifiedIfGiven(pem) => (pem, true),
            Clients::Verified(pem) => (pem, false),
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(pem)? {
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let builder = if optional { builder.allow_unauthenticated() } else { builder };
        builder.build().map(Some).map_err(|error| error.to_string())
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    if found.is_empty() { Err("no certificate found".to_owned()) } else { Ok(found) }
}
