//! ```text
//! prometheus [ADDRESS] {
//!     runtime_metrics
//!     tls FILE
//!     legacy_forward_metrics
//! }
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use corefile::{Diagnostic, Dispenser, zones_from_args_or_block};
use server::http::Route;
use server::{Lifecycle, Observer, Setup};

use super::config_metrics::ConfigMetrics;
use super::families::Families;
use super::refused::RefusedQueries;
use super::table::Table;
use super::web::WebFile;
use super::{NAME, PATH, Prometheus, answer, preregistered, process};
use crate::options::listen_address;

const DEFAULT_ADDRESS: &str = "localhost:9153";

/// Value of the label `goversion`, which is kept because dashboards group by it.
const COMPILER: &str = "rust";

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut addr = DEFAULT_ADDRESS.to_owned();
    let mut options = Options::default();
    let mut seen = false;
    while s.c.next() {
        if std::mem::replace(&mut seen, true) {
            return Err(s.once_error());
        }
        addr = listen_address(&mut s.c, &addr, |c, error| c.bare_err(error))?;
        while s.c.next_block() {
            options.read(&mut s.c)?;
        }
    }
    if let Some(file) = options.tls {
        let refuse = |error| s.c.bare_err(format_args!("Invalid TLS config: {error}"));
        let file = WebFile::open(&file).map_err(refuse)?;
        s.http_tls(&addr, Arc::new(file));
    }

    let families = Arc::new(Families::register().map_err(|error| s.c.bare_err(error))?);
    preregistered::register().map_err(|error| s.c.bare_err(error))?;
    process::register();
    families.build_info.with(&[env!("CARGO_PKG_VERSION"), "", COMPILER]).set(1.0);

    let config_metrics = s.shared("", || ConfigMetrics::new(Arc::clone(&families)));
    config_metrics.runtime.fetch_or(options.runtime_metrics, Ordering::AcqRel);
    config_metrics.legacy.fetch_or(options.legacy_forward_metrics, Ordering::AcqRel);
    s.http(Route::new(addr, PATH, answer));
    let zones = zones_from_args_or_block::<&str>(&[], s.keys());
    s.add_linked(NAME, move |link| {
        let view = link.view();
        // CoreDNS reports only the first key of a block, on all its addresses.
        let first = link.served().len() / zones.len().max(1);
        for (server, zone) in link.served().iter().take(first) {
            config_metrics.add(server, zone, &view, link.chain());
        }
        let servers = link.servers().into_iter();
        let table = Table::new(&families, servers, &zones, &view, link.chain());
        let refused = RefusedQueries::default();
        let plugin = Arc::new(Prometheus { families, table, refused, config_metrics });
        link.offer::<dyn Observer>(plugin.clone());
        link.offer::<dyn Lifecycle>(plugin.clone());
        Ok(plugin)
    });
    Ok(())
}

#[derive(Default)]
struct Options {
    runtime_metrics: bool,
    legacy_forward_metrics: bool,
    tls: Option<PathBuf>,
}

impl Options {
    fn read(&mut self, c: &mut Dispenser<'_>) -> Result<(), Diagnostic> {
        match c.val() {
            "runtime_metrics" => self.runtime_metrics = flag(c)?,
            "legacy_forward_metrics" => self.legacy_forward_metrics = flag(c)?,
            "tls" => {
                if self.tls.is_some() {
                    return Err(c.err("tls block already specified"));
                }
                let [file] = c.remaining_args()[..] else { return Err(c.arg_err()) };
                // Not relative to `root`, as in CoreDNS.
                self.tls = Some(PathBuf::from(file));
            }
            other => return Err(c.err(format_args!("unknown option: {other}"))),
        }
        Ok(())
    }
}

/// Parses an option that takes no arguments.
fn flag(c: &mut Dispenser<'_>) -> Result<bool, Diagnostic> {
    if c.remaining_args().is_empty() { Ok(true) } else { Err(c.arg_err()) }
}
