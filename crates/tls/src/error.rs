//! The texts of TLS errors; the most common ones in the words of Go's library.

use std::io;

use rustls::{AlertDescription, CertificateError};

use crate::verifier::is_ca_certificate;

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeError {
    /// The peer sent an alert.
    Alert(String),
    /// We ended it.
    Local(String),
}

impl HandshakeError {
    pub fn new(error: &io::Error) -> HandshakeError {
        HandshakeError::Local(match reason(error) {
            Some(rustls::Error::InvalidCertificate(certificate)) => {
                format!("failed to verify certificate: x509: {}", certificate_error_text(certificate))
            }
            Some(rustls::Error::AlertReceived(alert)) => return HandshakeError::Alert(alert_text(*alert)),
            Some(other) => other.to_string(),
            None => golang::system_error(error),
        })
    }
}

/// The peer's alert, if the error is one: in TLS 1.3 one about the client certificate arrives after the handshake.
pub fn alert(error: &io::Error) -> Option<String> {
    match reason(error)? {
        rustls::Error::AlertReceived(alert) => Some(alert_text(*alert)),
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
