//! Errors of TLS as errors of an exchange.

use std::io;

use ::tls::HandshakeError;
pub(crate) use ::tls::server_name;
pub use ::tls::{load_tls, tls_config};

use crate::Error;

/// The error of a failed handshake.
pub(crate) fn error(error: &io::Error) -> Error {
    match HandshakeError::new(error) {
        HandshakeError::Alert(text) => Error::Alert(text),
        HandshakeError::Local(text) => Error::Tls(text),
    }
}

/// The upstream's alert about the client certificate, if there is one: in TLS 1.3 it arrives after the handshake.
pub(crate) fn alert(error: &io::Error) -> Option<Error> {
    ::tls::alert(error).map(Error::Alert)
}
