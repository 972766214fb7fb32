//! The client of an API server: who it is, fresh credentials, one connection.

mod login;
mod tls;
mod transport;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::client::ConfigExt;
use kube::{Client, Config};
use tokio::sync::OnceCell;
use tower::{BoxError, ServiceBuilder};

use self::transport::Transport;
use crate::backoff::Limits;
use crate::rate_limit::RateLimit;
use crate::server_version;

pub use login::{Credentials, Login, Tls};

/// Minimum interval between reloads of credentials after failures: a reload may run an exec plugin.
const SUSPECT_MIN_AGE: Duration = Duration::from_secs(10);

/// The same after the server has refused the credentials (401).
const REFUSED_MIN_AGE: Duration = Duration::from_secs(1);

/// Names a cluster in logs, metrics and keys. It says nothing about how to log in, which may change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterId(Arc<str>);

impl ClusterId {
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why an API server cannot be used: names the file and the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessError(pub String);

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AccessError {}

/// One API server, for all its watches and writers.
pub(crate) struct Access {
    id: ClusterId,
    credentials: Arc<dyn Credentials>,
    limits: Limits,
    /// `10.96.0.1:443`, for metrics.
    host: String,
    url: String,
    pub(crate) rate_limit: RateLimit,
    current: Mutex<CurrentClient>,
    /// Held by the one task that creates a new client; the others wait for it.
    connecting: tokio::sync::Mutex<()>,
    /// Wakes tasks in back-off when the server responds again.
    retry_waiters: tokio::sync::Notify,
    /// From the server's version, requested once.
    cached_pages: OnceCell<bool>,
}

struct CurrentClient {
    /// For the first client only.
    config: Option<Config>,
    client: Option<KnownClient>,
    trust: Trust,
}

/// A client with the credentials as they were when it was made.
#[derive(Clone)]
struct KnownClient {
    client: Client,
    transport: Option<Transport>,
    created: Instant,
}

/// Whether the credentials of the current client may be outdated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trust {
    Trusted,
    /// The server did not respond: certificates may have changed.
    Suspect,
    /// The server responded 401.
    Refused,
}

impl Access {
    /// Loads the credentials, without a request. Its errors are permanent.
    pub(crate) fn open(
        id: &ClusterId,
        credentials: impl Credentials,
        limits: Limits,
    ) -> Result<Self, AccessError> {
        // Fails if another part of the process has installed it; all install the same provider.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let config = credentials.load().map_err(AccessError)?;
        let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
        let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        // An exec plugin runs later, with the first request: it takes time and may fail for a while.
        let client = match runs_plugin(&config) {
            true => None,
            false => Some(connect(&config, None, limits).map_err(|e| AccessError(format!("{id}: {e}")))?),
        };
        Ok(Self {
            id: id.clone(),
            credentials: Arc::new(credentials),
            limits,
            host,
            url,
            rate_limit: RateLimit::new(limits.requests_per_second, limits.request_burst),
            current: Mutex::new(CurrentClient { config: Some(config), client, trust: Trust::Trusted }),
            connecting: tokio::sync::Mutex::default(),
            retry_waiters: tokio::sync::Notify::new(),
            cached_pages: OnceCell::new(),
        })
    }

    pub(crate) fn id(&self) -> &ClusterId {
        &self.id
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Whether paged lists are cheaper for the server than streamed ones.
    pub(crate) async fn has_cached_pages(&self) -> bool {
        let request = || server_version::is_at_least(self, self.limits.pages_since);
        *self.cached_pages.get_or_init(request).await
    }

    /// The current client, or a new one with reloaded credentials after a failure; and when it was made.
    pub(crate) async fn client(&self) -> Result<(Client, Instant), String> {
        if let Some(known) = self.lock().usable_client() {
            return Ok((known.client, known.created));
        }
        let _connecting = self.connecting.lock().await;
        let (config, old) = {
            let mut current = self.lock();
            if let Some(known) = current.usable_client() {
                return Ok((known.client, known.created));
            }
            let old = current.client.clone();
            (current.config.take().filter(|_| old.is_none()), old)
        };
        let (credentials, id, limits) = (Arc::clone(&self.credentials), self.id.clone(), self.limits);
        let transport = old.as_ref().and_then(|old| old.transport.clone());
        // A server that was merely silent may have a dead connection.
        let transport = transport.filter(|_| self.lock().trust == Trust::Refused);
        let created = tokio::task::spawn_blocking(move || {
            let config = config.map_or_else(|| credentials.load(), Ok)?;
            connect(&config, transport, limits).map_err(|e| format!("{id}: {e}"))
        });
        let created = created.await.map_err(|e| e.to_string())?;
        // Files may be missing for a moment while they are replaced; the old client may still work.
        let known =
            created.or_else(|e| old.ok_or(e).map(|old| KnownClient { created: Instant::now(), ..old }))?;
        let mut current = self.lock();
        current.client = Some(known.clone());
        current.trust = Trust::Trusted;
        Ok((known.client, known.created))
    }

    /// One watch is connected again, so the others need not wait any longer.
    pub(crate) fn notify_reachable(&self) {
        self.retry_waiters.notify_waiters();
    }

    /// Waits for `at_most`, or until [`Access::notify_reachable`].
    pub(crate) async fn back_off(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.retry_waiters.notified()).await;
    }

    /// The server did not respond: certificates may have changed.
    pub(crate) fn suspect_credentials(&self) {
        let mut current = self.lock();
        if current.trust == Trust::Trusted {
            current.trust = Trust::Suspect;
        }
    }

    /// The server responded 401 to a client that was made at `created`. Returns whether another try has new credentials.
    pub(crate) fn refuse_credentials(&self, created: Instant) -> bool {
        let mut current = self.lock();
        match &current.client {
            // Another request has renewed them meanwhile.
            Some(known) if known.created != created => true,
            Some(known) => {
                let is_old = known.created.elapsed() >= REFUSED_MIN_AGE;
                current.trust = Trust::Refused;
                is_old
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, CurrentClient> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CurrentClient {
    fn usable_client(&self) -> Option<KnownClient> {
        let min_age = match self.trust {
            Trust::Trusted => Duration::MAX,
            Trust::Suspect => SUSPECT_MIN_AGE,
            Trust::Refused => REFUSED_MIN_AGE,
        };
        self.client.clone().filter(|known| known.created.elapsed() < min_age)
    }
}

fn runs_plugin(config: &Config) -> bool {
    config.auth_info.exec.is_some() || config.auth_info.auth_provider.is_some()
}

/// A client with the credentials of `config`, on the connection of `transport` if its certificates are the same. Blocks
/// while an exec plugin runs.
fn connect(
    config: &Config,
    transport: Option<Transport>,
    limits: Limits,
) -> Result<KnownClient, kube::Error> {
    if config.proxy_url.is_some() {
        let mut config = config.clone();
        config.default_retry = false;
        let client = Client::try_from(config)?;
        return Ok(KnownClient { client, transport: None, created: Instant::now() });
    }
    let transport = match transport.filter(|transport| transport.is_for(config)) {
        Some(transport) => transport,
        None => Transport::new(config, limits.peer_timeout)?,
    };
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(transport.clone());
    let client = Client::new(service, config.default_namespace.clone());
    Ok(KnownClient { client, transport: Some(transport), created: Instant::now() })
}
