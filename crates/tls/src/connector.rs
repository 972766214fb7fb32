//! TLS client configurations. Certificates, keys and authorities with equal contents are loaded once per process and
//! shared by all connectors.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

use crate::roots;
use crate::shared::Shared;
use crate::verifier::Verifier;

static IDENTITIES: Shared<SingleCertAndKey> = Shared::new();
static VERIFIERS: Shared<Verifier> = Shared::new();

/// A client configuration from the arguments of a directive: none, `CA`, `CERT KEY` or `CERT KEY CA`. Without a CA the
/// system's root certificates are trusted.
pub fn tls_config(files: &[PathBuf]) -> Result<ClientConfig, String> {
    load_tls(files).map(|(config, _)| config)
}

/// The same with a hash of the files' contents: certificates are renewed under the same file names.
pub fn load_tls(files: &[PathBuf]) -> Result<(ClientConfig, u64), String> {
    let mut reader = Reader(DefaultHasher::new());
    let (identity, ca) = match files {
        [] => (None, None),
        [ca] => (None, Some(ca)),
        [cert, key] => (Some((cert, key)), None),
        [cert, key, ca] => (Some((cert, key)), Some(ca)),
        more => {
            return Err(format!("maximum of three arguments allowed for TLS config, found {}", more.len()));
        }
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let identity =
        identity.map(|(cert, key)| load_identity(&mut reader, cert, key, &provider)).transpose()?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match ca {
        Some(ca) => {
            let verifier = load_verifier(&mut reader, ca, provider)?;
            builder.dangerous().with_custom_certificate_verifier(verifier)
        }
        None => builder.with_root_certificates(roots::system()),
    };
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder.with_client_cert_resolver(identity),
    };
    files.len().hash(&mut reader.0);
    Ok((config, reader.0.finish()))
}

fn load_identity(
    reader: &mut Reader,
    cert: &Path,
    key: &Path,
    provider: &CryptoProvider,
) -> Result<Arc<SingleCertAndKey>, String> {
    let failed = |what: String| format!("could not load TLS cert: {what}");
    let (cert, key) = (reader.read(cert).map_err(failed)?, reader.read(key).map_err(failed)?);
    IDENTITIES.get(&[&cert, &key], || {
        let chain = certificates(&cert);
        if chain.is_empty() {
            return Err(failed("tls: failed to find any PEM data in certificate input".into()));
        }
        let key = PrivateKeyDer::from_pem_slice(&key)
            .map_err(|_| failed("tls: failed to find any PEM data in key input".into()))?;
        let pair = CertifiedKey::from_der(chain, key, provider).map_err(|error| failed(error.to_string()))?;
        Ok(SingleCertAndKey::from(pair))
    })
}

fn load_verifier(
    reader: &mut Reader,
    ca: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<Verifier>, String> {
    let pem = reader.read(ca).map_err(|error| format!("error reading {}: {error}", ca.display()))?;
    VERIFIERS.get(&[&pem], || {
        // As in CoreDNS, without the reason; operators search for this line.
        Verifier::new(certificates(&pem), provider)
            .ok_or_else(|| "could not read root certs: %!s(<nil>)".into())
    })
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}

/// Reads files and hashes their contents.
struct Reader(DefaultHasher);

impl Reader {
    fn read(&mut self, path: &Path) -> Result<Vec<u8>, String> {
        let bytes = files::read(path, files::DEFAULT_LIMIT)
            .map_err(|error| format!("open {}: {}", path.display(), golang::system_error(&error)))?;
        bytes.hash(&mut self.0);
        Ok(bytes)
    }
}

/// The name that a certificate must contain: the configured one or else the address.
pub fn server_name(configured: Option<&str>, addr: SocketAddr) -> ServerName<'static> {
    configured
        .and_then(|name| ServerName::try_from(name.trim_end_matches('.').to_owned()).ok())
        .unwrap_or_else(|| ServerName::IpAddress(addr.ip().into()))
}
