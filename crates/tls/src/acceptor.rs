//! The TLS configuration of a server, which follows its files.
//!
//! ```text
//! good ──changed, loads──→ good (new)
//!   └────changed, does not load──→ the last good one serves on; logged if the next check fails too ──loads──→ good (new)
//! ```
//!
//! Files are written one after the other, so a check may find a certificate without its key. That is no reason to refuse
//! a connection, nor to log an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use rustls::ServerConfig;
use tokio::sync::Mutex;

use crate::ServerSettings;

/// How often a handshake checks the settings for changes; every one does while there is no good configuration.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Reads the settings; None is no TLS. May block.
type Source = dyn Fn() -> Result<Option<ServerSettings>, String> + Send + Sync;

/// A server's TLS configuration, made again when its settings change.
#[derive(Clone)]
pub struct Acceptor(Arc<State>);

struct State {
    source: Box<Source>,
    log: Box<dyn Fn(&str) + Send + Sync>,
    current: ArcSwapOption<Snapshot>,
    /// One check at a time, with the error of the last one.
    check: Arc<Mutex<Option<Failure>>>,
    /// When the next check is due, in milliseconds after `epoch`.
    due: AtomicU64,
    epoch: Instant,
}

/// Settings and the configuration made of them, None without TLS.
struct Snapshot {
    settings: Option<ServerSettings>,
    config: Result<Option<Arc<ServerConfig>>, String>,
}

struct Failure {
    why: String,
    logged: bool,
}

impl Acceptor {
    /// Loads the first configuration, which may block. `log` is called once per error that lasts.
    pub fn new(
        source: impl Fn() -> Result<Option<ServerSettings>, String> + Send + Sync + 'static,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Acceptor {
        let state = State {
            source: Box::new(source),
            log: Box::new(log),
            current: ArcSwapOption::empty(),
            check: Arc::default(),
            due: AtomicU64::new(0),
            epoch: Instant::now(),
        };
        let mut first = None;
        state.check(&mut first);
        Acceptor(Arc::new(State { check: Arc::new(Mutex::new(first)), ..state }))
    }

    /// The configuration for a new connection; None is no TLS. If a check is due, one connection makes it; the others do
    /// not wait for it if there is a good configuration.
    pub async fn config(&self) -> Result<Option<Arc<ServerConfig>>, String> {
        let state = &self.0;
        if state.is_due() {
            let check = Arc::clone(&state.check);
            let turn = match state.is_good() {
                true => check.try_lock_owned().ok(),
                false => Some(check.lock_owned().await),
            };
            if let Some(mut turn) = turn
                && state.is_due()
            {
                let state = Arc::clone(state);
                // Reads files. The turn moves along: a connection that is given up does not start a second check.
                let checked = tokio::task::spawn_blocking(move || state.check(&mut turn));
                checked.await.map_err(|error| error.to_string())?;
            }
        }
        let current = state.current.load();
        current.as_ref().map_or_else(|| Err("no TLS configuration".to_owned()), |it| it.config.clone())
    }
}

impl State {
    fn is_good(&self) -> bool {
        self.current.load().as_ref().is_some_and(|current| current.config.is_ok())
    }

    fn is_due(&self) -> bool {
        self.epoch.elapsed().as_millis() as u64 >= self.due.load(Ordering::Acquire)
    }

    /// Replaces the snapshot if the settings changed and load.
    fn check(&self, last: &mut Option<Failure>) {
        let current = self.current.load_full();
        let is_good = self.is_good();
        let is_last =
            |why: &String, last: &Option<Failure>| last.as_ref().is_some_and(|last| last.why == *why);
        let failed = match (self.source)() {
            Ok(settings) if current.as_ref().is_some_and(|it| it.settings == settings && is_good) => None,
            Ok(settings) => {
                let config = settings.as_ref().map(ServerSettings::config).transpose();
                match config {
                    // A pair that does not load never replaces one that did.
                    Err(why) if is_good => Some(why),
                    config => {
                        let why = config.as_ref().err().cloned();
                        self.current.store(Some(Arc::new(Snapshot { settings, config })));
                        why
                    }
                }
            }
            Err(why) => {
                // Settings that cannot be read may be about to be written; if not, what they required is unknown.
                if !is_good || is_last(&why, last) {
                    let config = Err(why.clone());
                    self.current.store(Some(Arc::new(Snapshot { settings: None, config })));
                }
                Some(why)
            }
        };
        *last = failed.map(|why| {
            let repeated = is_last(&why, last);
            let logged = last.as_ref().is_some_and(|last| repeated && last.logged);
            if repeated && !logged {
                (self.log)(&why);
            }
            Failure { why, logged: repeated }
        });
        let next = if self.is_good() { self.epoch.elapsed() + CHECK_INTERVAL } else { Duration::ZERO };
        self.due.store(next.as_millis() as u64, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::ClientAuth;

    fn settings(certificate: &str, key: &str) -> ServerSettings {
        ServerSettings {
            certificates: certificate.into(),
            key: key.into(),
            client_auth: ClientAuth::default(),
            tls12: true,
            tls13: true,
            cipher_suites: None,
            groups: None,
            protocols: Vec::new(),
        }
    }

    #[test]
    fn the_last_good_pair_serves_and_lasting_errors_are_logged_once() {
        let [a, b] = [0, 1].map(|_| {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
            (made.cert.pem(), made.signing_key.serialize_pem())
        });
        let source = Arc::new(Mutex::new(Err("unset".to_owned())));
        let lines = Arc::new(Mutex::new(Vec::new()));
        let acceptor = Acceptor::new(
            {
                let source = Arc::clone(&source);
                move || source.lock().expect("not poisoned").clone()
            },
            {
                let lines = Arc::clone(&lines);
                move |why| lines.lock().expect("not poisoned").push(why.to_owned())
            },
        );
        let good = |pair: &(String, String)| Ok(Some(settings(&pair.0, &pair.1)));
        let mixed = Ok(Some(settings(&a.0, &b.1)));
        let (torn, gone) = (Ok(Some(settings(&b.0[..200], &b.1))), Err("no such section".to_owned()));
        // The settings, whether the configuration is usable, whether it is another one, and the lines logged.
        let cases = [
            (good(&a), true, true, 0),
            (good(&a), true, false, 0),
            (mixed.clone(), true, false, 0),
            (good(&b), true, true, 0),
            (torn, true, false, 0),
            (mixed.clone(), true, false, 0),
            (mixed.clone(), true, false, 1),
            (mixed, true, false, 0),
            (gone.clone(), true, false, 0),
            (gone.clone(), false, true, 1),
            (gone, false, true, 0),
            (good(&a), true, true, 0),
            (Ok(None), true, true, 0),
        ];
        let mut last = None;
        for (number, (next, usable, is_new, logged)) in cases.into_iter().enumerate() {
            *source.lock().expect("not poisoned") = next;
            let before = acceptor.0.current.load_full();
            acceptor.0.check(&mut last);
            let now = acceptor.0.current.load_full().expect("a snapshot");
            assert_eq!(now.config.is_ok(), usable, "{number}");
            assert_eq!(before.is_none_or(|before| !Arc::ptr_eq(&before, &now)), is_new, "{number}");
            assert_eq!(std::mem::take(&mut *lines.lock().expect("not poisoned")).len(), logged, "{number}");
        }
    }
}
