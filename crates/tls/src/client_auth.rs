//! Client authentication by TLS certificates.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};

use crate::roots;
use crate::san;
use crate::server::certificates;

/// The requirements on client certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientAuth {
    /// The server requests a certificate.
    pub requested: bool,
    /// Connections without a certificate are refused.
    pub required: bool,
    /// A certificate must be signed by one of these.
    pub signed_by: Option<Authorities>,
    /// A certificate must have one of these alternative names; this makes a certificate required.
    pub names: Option<Vec<String>>,
}

/// The authorities that may sign client certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authorities {
    /// The system's root certificates.
    System,
    Pem(Vec<u8>),
}

impl ClientAuth {
    pub(crate) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Arc<dyn ClientCertVerifier>>, String> {
        if !self.requested {
            return Ok(None);
        }
        let signed = match &self.signed_by {
            None => None,
            Some(authorities) => {
                let roots = authorities.roots().map_err(|error| format!("client_ca_file: {error}"))?;
                let builder = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider));
                Some(builder.build().map_err(|error| format!("client_ca_file: {error}"))?)
            }
        };
        Ok(Some(Arc::new(Verifier {
            signed,
            required: self.required || self.names.is_some(),
            names: self.names.clone(),
            algorithms: provider.signature_verification_algorithms,
        })))
    }
}

impl Authorities {
    fn roots(&self) -> Result<Arc<RootCertStore>, String> {
        match self {
            Authorities::System => {
                let roots = roots::system();
                if roots.is_empty() {
                    return Err("not set, and the system has no root certificates; expected a file of CA certificates".to_owned());
                }
                Ok(roots)
            }
            Authorities::Pem(pem) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(pem)? {
                    roots.add(certificate).map_err(|error| error.to_string())?;
                }
                Ok(Arc::new(roots))
            }
        }
    }
}

/// Go's checks of client certificates, some of which rustls lacks: unsigned certificates, and lists of allowed names.
#[derive(Debug)]
struct Verifier {
    signed: Option<Arc<dyn ClientCertVerifier>>,
    required: bool,
    names: Option<Vec<String>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for Verifier {
    fn client_auth_mandatory(&self) -> bool {
        self.required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.signed.as_ref().map_or(&[], |signed| signed.root_hint_subjects())
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if let Some(signed) = &self.signed {
            signed.verify_client_cert(certificate, intermediates, now)?;
        }
        match &self.names {
            Some(allowed) if !san::names(certificate).iter().any(|name| allowed.contains(name)) => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(ClientCertVerified::assertion()),
        }
    }

    // The client must prove possession of the key in any case.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
