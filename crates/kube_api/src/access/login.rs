//! Loads kubeconfigs, service accounts and client certificates.

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use hyper::http::Uri;
use kube::Config;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Where an API server is, and how to log in there. Called again whenever credentials may have changed, so it reads files
/// anew each time.
pub trait Credentials: Send + Sync + 'static {
    /// Reads files, never waits for the network. Errors name the file and the field.
    fn load(&self) -> Result<Config, String>;
}

/// The usual ways to log in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Login {
    /// The service account of the pod this runs in.
    InCluster,
    Kubeconfig {
        file: PathBuf,
        context: Option<String>,
    },
    /// The URL of an API server, with an optional client certificate.
    Endpoint {
        url: String,
        tls: Option<Tls>,
    },
}

/// Files of a client certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub authority: PathBuf,
}

impl Credentials for Login {
    fn load(&self) -> Result<Config, String> {
        match self {
            Login::InCluster => Config::incluster().map_err(in_cluster),
            Login::Kubeconfig { file, context } => kubeconfig(file, context.as_deref()),
            Login::Endpoint { url, tls } => endpoint(url, tls.as_ref()),
        }
    }
}

/// The wording of client-go, which operators know.
fn in_cluster(e: InClusterError) -> String {
    let why = match e {
        InClusterError::ReadEnvironmentVariable(_) => {
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined".to_owned()
        }
        InClusterError::ReadDefaultNamespace(e) | InClusterError::ReadCertificateBundle(e) => {
            format!("the pod has no service account: {SERVICE_ACCOUNT}: {e}")
        }
        other => other.to_string(),
    };
    format!("unable to load in-cluster configuration, {why}")
}

fn kubeconfig(file: &Path, context: Option<&str>) -> Result<Config, String> {
    let with_path = |e: kube::config::KubeconfigError| match context {
        Some(context) => format!("{}, context {context:?}: {e}", file.display()),
        None => format!("{}: {e}", file.display()),
    };
    // The wording of client-go.
    fs::metadata(file).map_err(|e| format!("stat {}: {}", file.display(), golang::system_error(&e)))?;
    // A read from a FIFO or a device would never end.
    files::open(file).map_err(|e| format!("open {}: {}", file.display(), golang::system_error(&e)))?;
    let read = Kubeconfig::read_from(file).map_err(with_path)?;
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    // Async by type only: it never waits.
    match pin!(Config::from_custom_kubeconfig(read, &options)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(config) => config.map_err(with_path),
        Poll::Pending => Err(format!("{}: reading it would block", file.display())),
    }
}

fn endpoint(url: &str, tls: Option<&Tls>) -> Result<Config, String> {
    if !url.contains("://") && url.contains('/') {
        let why = format!("host must be a URL or a host:port pair: {url:?}");
        return Err(format!("failed to create kubernetes notification controller: {why:?}"));
    }
    let with_scheme = match (url.contains("://"), tls) {
        (true, _) => url.to_owned(),
        (false, Some(_)) => format!("https://{url}"),
        (false, None) => format!("http://{url}"),
    };
    let uri: Uri = with_scheme.parse().map_err(|e| format!("endpoint {url:?}: {e}"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
        return Err(format!(
            "endpoint {url:?}: expected the URL of an API server, such as https://10.0.0.1:6443"
        ));
    }
    // Plain HTTP needs no root certificates, and loading the system's takes longer than all the rest.
    let plain = uri.scheme_str() == Some("http");
    let mut config = Config::new(uri);
    config.root_cert = plain.then(Vec::new);
    if let Some(tls) = tls {
        for file in [&tls.certificate, &tls.key] {
            read(file)?;
        }
        config.root_cert = Some(certificates(&tls.authority)?);
        config.auth_info.client_certificate = Some(tls.certificate.display().to_string());
        config.auth_info.client_key = Some(tls.key.display().to_string());
    }
    Ok(config)
}

/// Errors have the wording of client-go.
fn read(file: &Path) -> Result<Vec<u8>, String> {
    files::read(file, files::DEFAULT_LIMIT)
        .map_err(|e| format!("open {}: {}", file.display(), golang::system_error(&e)))
}

fn certificates(file: &Path) -> Result<Vec<Vec<u8>>, String> {
    let with_path = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let pem = read(file)?;
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(&pem).map(|der| der.map(|der| der.to_vec())).collect();
    match found {
        Ok(found) if found.is_empty() => Err(with_path(&"has no certificate")),
        found => found.map_err(|e| with_path(&e)),
    }
}
