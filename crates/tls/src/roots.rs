//! The system's root certificates, read once while anything uses them.

use std::sync::Arc;

use rustls::RootCertStore;

use crate::shared::Shared;

static SYSTEM: Shared<RootCertStore> = Shared::new();

/// Those that can be parsed; without any, every handshake fails with an error.
pub(crate) fn system() -> Arc<RootCertStore> {
    let load = || {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Ok::<_, std::convert::Infallible>(roots)
    };
    match SYSTEM.get(&[], load) {
        Ok(roots) => roots,
        Err(never) => match never {},
    }
}
