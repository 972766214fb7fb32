//! TLS configurations, shared by clusters with the same certificates: each certificate store is parsed once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use kube::Config;
use kube::client::ConfigExt;
use rustls::ClientConfig;
use rustls::client::Resumption;

/// Sessions to resume per configuration; rustls reserves room for 256 otherwise.
const SESSIONS: usize = 8;

/// What a TLS configuration is made from; None if an exec plugin may provide a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TlsKey {
    roots: Option<Vec<Vec<u8>>>,
    root_file: Option<std::path::PathBuf>,
    certificate: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
    accepts_invalid: bool,
}

impl TlsKey {
    pub(super) fn of(config: &Config) -> Option<Self> {
        let auth = &config.auth_info;
        if auth.exec.is_some() {
            return None;
        }
        let text = |data: Option<&str>| data.map(|data| data.as_bytes().to_vec());
        let file = |path: &Option<String>| path.as_ref().and_then(|path| std::fs::read(path).ok());
        Some(Self {
            roots: config.root_cert.clone(),
            root_file: config.root_cert_file.clone(),
            certificate: text(auth.client_certificate_data.as_deref())
                .or_else(|| file(&auth.client_certificate)),
            // Secrets are compared by their public half and, for files, by their content.
            key: file(&auth.client_key),
            accepts_invalid: config.accept_invalid_certs,
        })
    }
}

static SHARED: Mutex<Option<HashMap<TlsKey, Weak<ClientConfig>>>> = Mutex::new(None);

/// The configuration for these certificates, which offers no protocol yet.
pub(super) fn client_config(config: &Config, key: Option<&TlsKey>) -> Result<Arc<ClientConfig>, kube::Error> {
    let make = || {
        let mut tls = config.rustls_client_config()?;
        tls.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok(Arc::new(tls))
    };
    let Some(key) = key else { return make() };
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = shared.get_or_insert_default();
    if let Some(known) = shared.get(key).and_then(Weak::upgrade) {
        return Ok(known);
    }
    shared.retain(|_, config| config.strong_count() > 0);
    let made = make()?;
    shared.insert(key.clone(), Arc::downgrade(&made));
    Ok(made)
}
