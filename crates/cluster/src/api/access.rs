//! How an API server is reached: addresses, certificates, tokens. All of it is kube's; requests are not.

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

/// How often a peer that says nothing is asked by the kernel whether it is there.
const KEEPALIVE_PROBES: u32 = 3;

/// A connection that nobody uses is closed after this time, so that none is used again which died meanwhile. The pages
/// of a list follow each other faster.
const IDLE: Duration = Duration::from_secs(5);

/// Credentials are read anew after a failure, but not more often than this: a plugin may have to be run for it.
const RENEW: Duration = Duration::from_secs(10);

const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// One API server, for all kinds that are watched there.
pub(super) struct Access {
    source: Source,
    limits: Limits,
    /// `10.96.0.1:443`, for metrics.
    host: String,
    url: String,
    current: Mutex<Current>,
    /// One at a time makes a new client, the others wait for it.
    making: tokio::sync::Mutex<()>,
    /// Those who pause before they try again.
    pausing: tokio::sync::Notify,
    /// Found out by the first who has to know.
    cached_pages: OnceCell<bool>,
}

struct Current {
    config: Config,
    client: Option<(Client, Instant)>,
    doubtful: bool,
}

impl Access {
    /// Reads what the source names; what is wrong with it now stays wrong. Asks nobody yet.
    pub(super) fn open(source: &Source, limits: Limits) -> Result<Self, WatchError> {
        // The first one stays; whoever else installs one in this process installs the same.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let config = config(source).map_err(WatchError)?;
        let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
        let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        // What needs a plugin to be run is left for later: it takes time and may fail for a while.
        let client = match config.auth_info.exec.is_some() || config.auth_info.auth_provider.is_some() {
            true => None,
            false => {
                let client =
                    connect(&config, limits.vanished).map_err(|e| WatchError(format!("{source}: {e}")))?;
                Some((client, Instant::now()))
            }
        };
        let current = Mutex::new(Current { config, client, doubtful: false });
        let making = tokio::sync::Mutex::default();
        Ok(Self {
            source: source.clone(),
            limits,
            host,
            url,
            current,
            making,
            pausing: tokio::sync::Notify::new(),
            cached_pages: OnceCell::new(),
        })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Whether lists are better asked for in pages than streamed.
    pub(super) async fn has_cached_pages(&self) -> bool {
        let ask = || server_version::is_at_least(self, self.limits.pages_since);
        *self.cached_pages.get_or_init(ask).await
    }

    /// A client with credentials that work, as far as is known.
    pub(super) async fn client(&self) -> Result<Client, String> {
        if let Some(client) = self.lock().undoubted() {
            return Ok(client);
        }
        let _making = self.making.lock().await;
        let (config, old) = {
            let current = self.lock();
            if let Some(client) = current.undoubted() {
                return Ok(client);
            }
            let old = current.client.as_ref().map(|(client, _)| client.clone());
            // What was read at first serves once.
            (old.is_none().then(|| current.config.clone()), old)
        };
        let (source, vanished) = (self.source.clone(), self.limits.vanished);
        let made = tokio::task::spawn_blocking(move || {
            let config = config.map_or_else(|| self::config(&source), Ok)?;
            connect(&config, vanished).map_err(|e| format!("{source}: {e}"))
        });
        let made = made.await.map_err(|e| e.to_string())?;
        // Files may be missing for a moment while they are replaced; the old client may still do.
        let client = made.or_else(|e| old.ok_or(e))?;
        let mut current = self.lock();
        current.client = Some((client.clone(), Instant::now()));
        current.doubtful = false;
        Ok(client)
    }

    /// The server answers one of us again, so the others need not wait any longer.
    pub(super) fn is_back(&self) {
        self.pausing.notify_waiters();
    }

    /// Waits so long, or until it is known that the server is back.
    pub(super) async fn pause(&self, at_most: Duration) {
        // Either end is the end.
        let _ = tokio::time::timeout(at_most, self.pausing.notified()).await;
    }

    /// The server did not answer, or did not like us: perhaps certificates or tokens are others by now.
    pub(super) fn doubt(&self) {
        self.lock().doubtful = true;
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn undoubted(&self) -> Option<Client> {
        let (client, made) = self.client.as_ref()?;
        (!self.doubtful || made.elapsed() < RENEW).then(|| client.clone())
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

/// The first in the words of Kubernetes' own client, which operators know.
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
    let named = |e: kube::config::KubeconfigError| match context {
        Some(context) => format!("{}, context {context:?}: {e}", file.display()),
        None => format!("{}: {e}", file.display()),
    };
    // In the words of Kubernetes' own client.
    fs::metadata(file).map_err(|e| format!("stat {}: {}", file.display(), golang::system_error(&e)))?;
    // Reading a FIFO or a device would not end.
    files::open(file).map_err(|e| format!("open {}: {}", file.display(), golang::system_error(&e)))?;
    let read = Kubeconfig::read_from(file).map_err(named)?;
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    // It waits for nothing, though its type would let it.
    match pin!(Config::from_custom_kubeconfig(read, &options)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(config) => config.map_err(named),
        Poll::Pending => Err(format!("{}: cannot be read at once", file.display())),
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
        return Err(format!("endpoint {url:?}: is no address of an API server, like https://10.0.0.1:6443"));
    }
    // Without TLS nobody's certificates are looked at, and to read the system's takes longer than all the rest.
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

/// In the words of Kubernetes' own client.
fn read(file: &Path) -> Result<Vec<u8>, String> {
    files::read(file, files::DEFAULT_LIMIT)
        .map_err(|e| format!("open {}: {}", file.display(), golang::system_error(&e)))
}

fn certificates(file: &Path) -> Result<Vec<Vec<u8>>, String> {
    let named = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let pem = read(file)?;
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(&pem).map(|der| der.map(|der| der.to_vec())).collect();
    match found {
        Ok(found) if found.is_empty() => Err(named(&"has no certificate")),
        found => found.map_err(|e| named(&e)),
    }
}

/// May run a plugin that finds credentials, and block meanwhile.
fn connect(config: &Config, vanished: Duration) -> Result<Client, kube::Error> {
    if config.proxy_url.is_some() {
        let mut config = config.clone();
        config.default_retry = false;
        return Client::try_from(config);
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(config.connect_timeout);
    // Half of the time in silence, the other half with probes; they count in seconds.
    let silence = (vanished / 2).max(Duration::from_secs(1));
    tcp.set_keepalive(Some(silence));
    tcp.set_keepalive_interval(Some((silence / KEEPALIVE_PROBES).max(Duration::from_secs(1))));
    tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
    // The same for what was sent and is not acknowledged.
    tcp.set_tcp_user_timeout(Some(vanished));
    let connector = config.rustls_https_connector_with_connector(tcp)?;
    let mut http = HttpClient::builder(TokioExecutor::new());
    http.pool_idle_timeout(IDLE).pool_timer(TokioTimer::new());
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http.build(connector));
    Ok(Client::new(service, config.default_namespace.clone()))
}
