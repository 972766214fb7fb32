//! The TLS settings of a server: certificate, versions, cipher suites and client authentication.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedCipherSuite, SupportedProtocolVersion};

use crate::ClientAuth;

/// The TLS settings of a server; certificates and key are PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    pub certificates: Vec<u8>,
    pub key: Vec<u8>,
    pub client_auth: ClientAuth,
    /// TLS 1.2 is enabled.
    pub tls12: bool,
    /// TLS 1.3 is enabled.
    pub tls13: bool,
    /// The cipher suites of TLS 1.2, by their IANA names, if not all.
    pub cipher_suites: Option<Vec<String>>,
    /// The key exchange groups, by their TLS names (`secp256r1`, `X25519`), if not all.
    pub groups: Option<Vec<String>>,
    /// The application protocols that are offered (ALPN), in order of preference.
    pub protocols: Vec<Vec<u8>>,
}

impl ServerSettings {
    /// Checks the settings and makes a rustls configuration.
    pub fn config(&self) -> Result<Arc<ServerConfig>, String> {
        let pair = |error: &dyn std::fmt::Display| format!("failed to load X509KeyPair: {error}");
        let chain = certificates(&self.certificates).map_err(|error| pair(&error))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| pair(&error))?;
        let provider = Arc::new(self.provider()?);
        let enabled =
            [(self.tls12, &TLS12), (self.tls13, &TLS13)].into_iter().filter(|(enabled, _)| *enabled);
        let versions: Vec<&'static SupportedProtocolVersion> = enabled.map(|(_, version)| version).collect();
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| error.to_string())?;
        let builder = match self.client_auth.verifier(&provider)? {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| pair(&error))?;
        config.alpn_protocols.clone_from(&self.protocols);
        Ok(Arc::new(config))
    }

    /// Suites and groups that rustls lacks are left out; it is an error if none remains.
    fn provider(&self) -> Result<CryptoProvider, String> {
        let mut provider = aws_lc_rs::default_provider();
        if let Some(names) = &self.cipher_suites {
            provider.cipher_suites.retain(|suite| match suite {
                // As in Go, the suites of TLS 1.3 cannot be chosen.
                SupportedCipherSuite::Tls13(_) => true,
                SupportedCipherSuite::Tls12(suite) => {
                    suite.common.suite.as_str().is_some_and(|name| names.iter().any(|known| known == name))
                }
            });
            let has_tls12 =
                provider.cipher_suites.iter().any(|suite| matches!(suite, SupportedCipherSuite::Tls12(_)));
            // A list of TLS 1.3 suites only disables TLS 1.2.
            let only_tls13 = self.tls13 && names.iter().all(|name| !name.contains("_WITH_"));
            if self.tls12 && !has_tls12 && !only_tls13 {
                return Err(format!(
                    "cipher_suites: for TLS 1.2 rustls has none of {}, and nothing with CBC; \
                     name a suite with GCM or CHACHA20_POLY1305",
                    names.join(", ")
                ));
            }
        }
        if let Some(names) = &self.groups {
            let wanted =
                |name: Option<&str>| name.is_some_and(|name| names.iter().any(|known| known == name));
            provider.kx_groups.retain(|group| wanted(group.name().as_str()));
            if provider.kx_groups.is_empty() {
                return Err(format!(
                    "curve_preferences: rustls has no {}; name CurveP256, CurveP384 or X25519 too",
                    names.join(", ")
                ));
            }
        }
        Ok(provider)
    }
}

pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    if found.is_empty() { Err("no certificate found".to_owned()) } else { Ok(found) }
}
