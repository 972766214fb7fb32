//! The web configuration of an HTTP address: TLS, users, headers and rate limit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tls::ServerSettings;

/// The source of a web configuration. Its methods are called again and again, because files may change.
pub trait WebSource: Send + Sync {
    /// The TLS settings of connections; None is plain HTTP.
    fn tls(&self) -> Result<Option<ServerSettings>, String>;

    /// The rules for a request.
    fn rules(&self) -> Result<Rules, String>;
}

pub type SharedWebSource = Arc<dyn WebSource>;

/// Which requests are admitted, and the headers of every answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// User names and bcrypt hashes. If empty, no authentication is required.
    pub users: BTreeMap<String, String>,
    pub headers: Vec<(String, String)>,
    pub rate: Option<Rate>,
}

/// A rate limit: `burst` requests at once, and one more per interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub interval: Duration,
    pub burst: u32,
}
