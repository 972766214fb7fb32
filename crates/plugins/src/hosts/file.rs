//! The hosts file on disk, read again when it changes.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use arc_swap::{ArcSwap, Guard};
use metrics::{Family, Gauge};

use super::LOG;
use super::lines::Lines;
use super::table::Table;

static RELOAD_TIME: Gauge = Gauge::new();

pub(super) struct HostsFile {
    pub path: PathBuf,
    lines: Lines,
    table: ArcSwap<Table>,
    /// Time of change and size of what was read last.
    seen: Mutex<Option<(SystemTime, u64)>>,
    /// Entries that are not the file's, counted in the metric all the same.
    inline_entries: usize,
    entries: Option<Arc<Family<Gauge>>>,
}

impl HostsFile {
    pub fn new(path: PathBuf, lines: Lines, inline_entries: usize) -> HostsFile {
        let table = ArcSwap::from_pointee(Table::default());
        HostsFile { path, lines, table, seen: Mutex::new(None), inline_entries, entries: register() }
    }

    pub fn table(&self) -> Guard<Arc<Table>> {
        self.table.load()
    }

    /// Reads the file if it is another than last time. What cannot be read leaves things as they are.
    pub fn refresh(&self) {
        let Ok(file) = File::open(&self.path) else { return };
        let Ok(metadata) = file.metadata() else { return };
        let changed = metadata.modified().unwrap_or(UNIX_EPOCH);
        let stamp = Some((changed, metadata.len()));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == stamp {
            return;
        }
        // Also if it fails: to complain once about one file is enough.
        *seen = stamp;
        let path = self.path.display().to_string();
        match self.lines.read(BufReader::new(file), &format!("Hosts file {path:?}"), LOG) {
            Ok(table) => {
                LOG.debug(format_args!("Parsed hosts file into {} entries", table.entries()));
                if let Some(entries) = &self.entries {
                    entries.with(&[&path]).set((table.entries() + self.inline_entries) as f64);
                }
                RELOAD_TIME.set(changed.duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64()));
                self.table.store(Arc::new(table));
            }
            Err(error) => {
                LOG.error(format_args!(
                    "Failed to parse hosts file {path:?}: read {path}: {}",
                    golang::system_error(&error)
                ));
            }
        }
    }
}

/// Makes the metrics known; those of entries, one for each file, are given back.
pub(super) fn register() -> Option<Arc<Family<Gauge>>> {
    let registry = metrics::registry();
    let help = "The timestamp of the last reload of hosts file.";
    let _ = registry.register_gauge("coredns_hosts_reload_timestamp_seconds", help, &RELOAD_TIME);
    let help = "The combined number of entries in hosts and Corefile.";
    registry.gauges("coredns_hosts_entries", help, &["hostsfile"]).ok()
}
