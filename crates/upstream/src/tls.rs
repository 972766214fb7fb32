//! TLS client configurations, and the texts of TLS errors.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};

use crate::Error;
use crate::verifier::{Verifier, is_ca_certificate};

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
    let identity = identity.map(|(cert, key)| load_identity(&mut reader, cert, key)).transpose()?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match ca {
        Some(ca) => {
            let verifier = load_verifier(&mut reader, ca, provider)?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
        None => builder.with_root_certificates(system_roots()),
    };
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| format!("could not load TLS cert: {error}"))?,
    };
    files.len().hash(&mut reader.0);
    Ok((config, reader.0.finish()))
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn load_identity(reader: &mut Reader, cert: &Path, key: &Path) -> Result<Identity, String> {
    let failed = |what: String| format!("could not load TLS cert: {what}");
    let chain = certificates(&reader.read(cert).map_err(failed)?);
    if chain.is_empty() {
        return Err(failed("tls: failed to find any PEM data in certificate input".into()));
    }
    let key = PrivateKeyDer::from_pem_slice(&reader.read(key).map_err(failed)?)
        .map_err(|_| failed("tls: failed to find any PEM data in key input".into()))?;
    Ok((chain, key))
}

fn load_verifier(reader: &mut Reader, ca: &Path, provider: Arc<CryptoProvider>) -> Result<Verifier, String> {
    let pem = reader.read(ca).map_err(|error| format!("error reading {}: {error}", ca.display()))?;
    // As in CoreDNS, without the reason; operators search for this line.
    Verifier::new(certificates(&pem), provider).ok_or_else(|| "could not read root certs: %!s(<nil>)".into())
}

/// The system's root certificates that can be parsed; without any, every handshake fails with an error.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
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
pub(crate) fn server_name(configured: Option<&str>, addr: SocketAddr) -> ServerName<'static> {
    configured
        .and_then(|name| ServerName::try_from(name.trim_end_matches('.').to_owned()).ok())
        .unwrap_or_else(|| ServerName::IpAddress(addr.ip().into()))
}

/// The error of a failed handshake; the most common reasons in the words of Go's library.
pub(crate) fn error(error: &io::Error) -> Error {
    Error::Tls(match reason(error) {
        Some(rustls::Error::InvalidCertificate(certificate)) => {
            format!("failed to verify certificate: x509: {}", certificate_error_text(certificate))
        }
        Some(rustls::Error::AlertReceived(alert)) => return Error::Alert(alert_text(*alert)),
        Some(other) => other.to_string(),
        None => golang::system_error(error),
    })
}

/// The upstream's alert about the client certificate, if there is one: in TLS 1.3 it arrives after the handshake.
pub(crate) fn alert(error: &io::Error) -> Option<Error> {
    match reason(error)? {
        rustls::Error::AlertReceived(alert) => Some(Error::Alert(alert_text(*alert))),
        _ => None,
    }
}

fn reason(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Go's text of an alert, for the common ones.
fn alert_text(alert: AlertDescription) -> String {
    let text = match alert {
        AlertDescription::HandshakeFailure => "handshake failure",
        AlertDescription::BadCertificate => "bad certificate",
        AlertDescription::UnsupportedCertificate => "unsupported certificate",
        AlertDescription::CertificateRevoked => "revoked certificate",
        AlertDescription::CertificateExpired => "expired certificate",
        AlertDescription::CertificateUnknown => "unknown certificate",
        AlertDescription::UnknownCA => "unknown certificate authority",
        AlertDescription::AccessDenied => "access denied",
        AlertDescription::ProtocolVersion => "protocol version not supported",
        AlertDescription::InternalError => "internal error",
        AlertDescription::UnrecognisedName => "unrecognized name",
        AlertDescription::CertificateRequired => "certificate required",
        AlertDescription::NoApplicationProtocol => "no application protocol",
        other => return format!("alert {other:?}"),
    };
    text.to_owned()
}

fn certificate_error_text(why: &CertificateError) -> String {
    use CertificateError::{
        BadSignature, Expired, ExpiredContext, NotValidForNameContext, NotValidYet, NotValidYetContext,
        UnknownIssuer,
    };
    match why {
        // An authority of the same name with another key causes a bad signature.
        UnknownIssuer | BadSignature => "certificate signed by unknown authority".into(),
        Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. } => {
            "certificate has expired or is not yet valid".into()
        }
        NotValidForNameContext { expected, presented } => {
            let expected = expected.to_str();
            let is_address = expected.parse::<std::net::IpAddr>().is_ok();
            let names: Vec<&str> =
                presented.iter().filter_map(|name| presented_name(name, is_address)).collect();
            match (names.is_empty(), is_address) {
                (false, _) => format!("certificate is valid for {}, not {expected}", names.join(", ")),
                (true, true) => format!(
                    "cannot validate certificate for {expected} because it doesn't contain any IP SANs"
                ),
                (true, false) => {
                    format!("certificate is not valid for any names, but wanted to match {expected}")
                }
            }
        }
        authority if is_ca_certificate(authority) => {
            "certificate is a CA certificate and not one of the trusted certificates".into()
        }
        other => other.to_string(),
    }
}

/// The name in `DnsName("dns.test")` or `IpAddress(127.0.0.1)`, which is how rustls lists them.
fn presented_name(name: &str, address: bool) -> Option<&str> {
    let kind = if address { "IpAddress(" } else { "DnsName(" };
    Some(name.strip_prefix(kind)?.trim_end_matches(')').trim_matches('"'))
}
