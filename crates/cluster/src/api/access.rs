//! The client of an API server: URL, certificates, tokens. kube loads the credentials; requests are this crate's.

use std::fs;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hyper::http::Uri;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::ConfigExt;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::OnceCell;
use tower::{BoxError, ServiceBuilder};

use super::backoff::Limits;
use super::server_version;
use crate::watch::{Source, Tls, WatchError};

/// Number of TCP keepalive probes to a silent peer before the kernel closes the connection.
const KEEPALIVE_PROBES: u32 = 3;

/// Idle connections are closed after this time, so that no request uses one that died meanwhile. The pages of a list
/// follow each other faster.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Minimum interval between reloads of credentials after failures: a reload may run an exec plugin.
const CREDENTIALS_MIN_AGE: Duration = Duration::from_secs(10);

const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// One API server, for all kinds that are watched there.
pub(super) struct Access {
    source: Source,
    limits: Limits,
    /// `10.96.0.1:443`, for metrics.
    host: String,
    url: String,
    current: Mutex<CurrentClient>,
    /// Held by the one task that creates a new client; the others wait for it.
    connecting: tokio::sync::Mutex<()>,
    /// Wakes tasks in back-off when the server responds again.
    retry_waiters: tokio::sync::Notify,
    /// From the server's version, requested once.
    cached_pages: OnceCell<bool>,
}

struct CurrentClient {
    config: Config,
    client: Option<(Client, Instant)>,
    suspect: bool,
}

impl Access {
    /// Loads the credentials of the source, without a request. Its errors are permanent.
    pub(super) fn open(source: &Source, limits: Limits) -> Result<Self, WatchError> {
        // Fails if another part of the process has installed it; all install the same provider.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let config = config(source).map_err(WatchError)?;
        let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
        let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        // An exec plugin runs later, with the first request: it takes time and may fail for a while.
        let client = match config.auth_info.exec.is_some() || config.auth_info.auth_provider.is_some() {
            true => None,
            false => {
                let client = connect(&config, limits.peer_timeout)
                    .map_err(|e| WatchError(format!("{source}: {e}")))?;
                Some((client, Instant::now()))
            }
        };
        let current = Mutex::new(CurrentClient { config, client, suspect: false });
        let connecting = tokio::sync::Mutex::default();
        Ok(Self {
            source: source.clone(),
            limits,
            host,
            url,
            current,
            connecting,
            retry_waiters: tokio::sync::Notify::new(),
            cached_pages: OnceCell::new(),
        })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Whether paged lists are cheaper for the server than streamed ones.
    pub(super) async fn has_cached_pages(&self) -> bool {
        let request = || server_version::is_at_least(self, self.limits.pages_since);
        *self.cached_pages.get_or_init(request).await
    }

    /// The current client, or a new one with reloaded credentials after a failure.
    pub(super) async fn client(&self) -> Result<Client, String> {
        if let Some(client) = self.lock().usable_client() {
            return Ok(client);
        }
        let _connecting = self.connecting.lock().await;
        let (config, old) = {
            let current = self.lock();
            if let Some(client) = current.usable_client() {
                return Ok(client);
            }
            let old = current.client.as_ref().map(|(client, _)| client.clone());
            // The configuration from `open` is used for the first client only.
            (old.is_none().then(|| current.config.clone()), old)
        };
        let (source, peer_timeout) = (self.source.clone(), self.limits.peer_timeout);
        let created = tokio::task::spawn_blocking(move || {
            let config = config.map_or_else(|| self::config(&source), Ok)?;
            connect(&config, peer_timeout).map_err(|e| format!("{source}: {e}"))
        });
        let created = created.await.map_err(|e| e.to_string())?;
        // Files may be missing for a moment while they are replaced; the old client may still work.
        let client = created.or_else(|e| old.ok_or(e))?;
        let mut current = self.lock();
        current.client = Some((client.clone(), Instant::now()));
        current.suspect = false;
        Ok(client)
    }

    /// One watch is connected again, so the others need not wait any longer.
    pub(super) fn notify_reachable(&self) {
        self.retry_waiters.notify_waiters();
    }

    /// Waits for `at_most`, or until [`Access::notify_reachable`].
    pub(super) async fn back_off(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.retry_waiters.notified()).await;
    }

    /// The server did not respond or refused the credentials: certificates or tokens may have changed.
    pub(super) fn suspect_credentials(&self) {
        self.lock().suspect = true;
    }

    fn lock(&self) -> MutexGuard<'_, CurrentClient> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CurrentClient {
    fn usable_client(&self) -> Option<Client> {
        let (client, created) = self.client.as_ref()?;
        (!self.suspect || created.elapsed() < CREDENTIALS_MIN_AGE).then(|| client.clone())
    }
}

fn config(source: &Source) -> Result<Config, String> {
    match source {
        Source::InCluster => Config::incluster().map_err(in_cluster),
        Source::Kubeconfig { file, context } => kubeconfig(file, context.as_deref()),
        Source::Endpoint { url, tls } => endpoint(url, tls.as_ref()),
        Source::Manifests(folder) => Err(format!("{}: is a folder, not an API server", folder.display())),
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

/// Blocks while an exec plugin runs.
fn connect(config: &Config, peer_timeout: Duration) -> Result<Client, kube::Error> {
    if config.proxy_url.is_some() {
        let mut config = config.clone();
        config.default_retry = false;
        return Client::try_from(config);
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(config.connect_timeout);
    // Half of the time idle, the other half for probes; the kernel counts in seconds.
    let silence = (peer_timeout / 2).max(Duration::from_secs(1));
    tcp.set_keepalive(Some(silence));
    tcp.set_keepalive_interval(Some((silence / KEEPALIVE_PROBES).max(Duration::from_secs(1))));
    tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
    // The same for data that was sent and not acknowledged.
    tcp.set_tcp_user_timeout(Some(peer_timeout));
    let connector = config.rustls_https_connector_with_connector(tcp)?;
    let mut http = HttpClient::builder(TokioExecutor::new());
    http.pool_idle_timeout(IDLE_TIMEOUT).pool_timer(TokioTimer::new());
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http.build(connector));
    Ok(Client::new(service, config.default_namespace.clone()))
}
