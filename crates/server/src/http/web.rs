//! What stands between a client and the answers of an address, as a web configuration says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Tls;

/// The door of an address. Both questions are asked anew each time, because files may change.
pub trait WebSource: Send + Sync {
    /// For a connection; None is HTTP in the clear.
    fn tls(&self) -> Result<Option<Tls>, String>;

    /// For a request.
    fn rules(&self) -> Result<Rules, String>;
}

pub type TlsSource = Arc<dyn WebSource>;

/// Whose requests are answered, and what goes with every answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Names and bcrypt hashes. Without any nobody is asked.
    pub users: BTreeMap<String, String>,
    pub headers: Vec<(String, String)>,
    pub rate: Option<Rate>,
}

/// So many requests at once, and one more whenever the interval has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub interval: Duration,
    pub burst: u32,
}
