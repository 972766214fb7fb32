//! A minimal, blocking JSON client of a test cluster's REST API.
//!
//! Deliberately not Rhumb's own client: a test must not depend on the code it tests.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use crate::error::{Context, Error, Result};

pub use ureq::http::Method;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Clones share their connections; use one per thread.
#[derive(Clone)]
pub struct Api {
    agent: ureq::Agent,
    url: String,
    token: String,
    timeout: Duration,
}

/// A response of any status.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Response {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Api {
    /// Trusts only the certificates in `ca_file`, which must exist.
    pub fn new(url: String, token: &str, ca_file: &Path) -> Result<Self> {
        let pem = std::fs::read(ca_file).context(ca_file.display())?;
        let roots: Vec<Certificate<'static>> = parse_pem(&pem)
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
                Ok(_) => None,
                Err(e) => Some(Err(e)),
            })
            .collect::<std::result::Result<_, _>>()
            .context(ca_file.display())?;
        // Explicit rather than the process-wide default: in a build of the whole workspace rustls may
        // be compiled with several providers, and then refuses to choose.
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(provider)
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .build();
        let agent =
            ureq::Agent::config_builder().tls_config(tls).http_status_as_error(false).build().new_agent();
        Ok(Self { agent, url, token: token.to_owned(), timeout: DEFAULT_TIMEOUT })
    }

    /// The same with another request timeout.
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        Self { timeout, ..self.clone() }
    }

    pub fn get(&self, path: &str) -> Result<Value> {
        self.json(Method::GET, path, None)
    }

    /// Creates an object in the collection at `path`.
    pub fn create(&self, path: &str, object: &Value) -> Result<Value> {
        self.json(Method::POST, path, Some(("application/json", object)))
    }

    pub fn replace(&self, path: &str, object: &Value) -> Result<Value> {
        self.json(Method::PUT, path, Some(("application/json", object)))
    }

    /// A JSON merge patch; `path` may end in `/status`.
    pub fn patch(&self, path: &str, patch: &Value) -> Result<Value> {
        self.json(Method::PATCH, path, Some(("application/merge-patch+json", patch)))
    }

    pub fn delete(&self, path: &str) -> Result<Value> {
        self.json(Method::DELETE, path, None)
    }

    /// The lines of a stream such as a watch, as they arrive, for at most `duration`.
    pub fn lines(
        &self,
        path: &str,
        duration: Duration,
    ) -> Result<impl Iterator<Item = std::io::Result<String>> + use<>> {
        let request = ureq::http::Request::builder()
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token))
            .body(())
            .context(path)?;
        let request = self.agent.configure_request(request).timeout_global(Some(duration)).build();
        let response = self.agent.run(request).context(path)?;
        if !response.status().is_success() {
            return Err(Error::new(format!("GET {path}: {}", response.status())));
        }
        Ok(BufReader::new(response.into_body().into_reader()).lines())
    }

    fn json(&self, method: Method, path: &str, body: Option<(&str, &Value)>) -> Result<Value> {
        let what = format!("{method} {path}");
        let response = self.send(method, path, body)?;
        if !(200..300).contains(&response.status) {
            return Err(Error::new(format!("{what}: {} {}", response.status, response.text())));
        }
        serde_json::from_slice(&response.body).context(what)
    }

    /// One request with a body of the given type; any status is a response.
    pub fn send(&self, method: Method, path: &str, body: Option<(&str, &Value)>) -> Result<Response> {
        let what = format!("{method} {path}");
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token));
        if let Some((content_type, _)) = body {
            request = request.header("content-type", content_type);
        }
        let limit = Some(self.timeout);
        let response = match body {
            Some((_, value)) => {
                let request = request.body(serde_json::to_vec(value).context(&what)?).context(&what)?;
                self.agent.run(self.agent.configure_request(request).timeout_global(limit).build())
            }
            None => {
                let request = request.body(()).context(&what)?;
                self.agent.run(self.agent.configure_request(request).timeout_global(limit).build())
            }
        };
        let mut response = response.context(&what)?;
        let status = response.status().as_u16();
        // Lists can exceed the default limit of 10 MB.
        let body = response.body_mut().with_config().limit(1 << 30).read_to_vec().context(&what)?;
        Ok(Response { status, body })
    }
}
