//! The hosts file on disk, reread when it changes.

use std::fs::{File, Metadata};
use std::io::{BufReader, Take};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use arc_swap::{ArcSwap, Guard};
use metrics::{Family, Gauge};

use super::LOG;
use super::lines::LineParser;
use super::table::Table;
use crate::host_files::polled_file::{Failure, PolledFile};

/// Maximum file size. The largest files in use, block lists, have a few hundred thousand lines.
const MAX_SIZE: u64 = 256 << 20;

static RELOAD_TIME: Gauge = Gauge::new();

pub(super) struct HostsFile {
    pub path: PathBuf,
    parser: LineParser,
    table: ArcSwap<Table>,
    followed: Mutex<PolledFile>,
    /// Entries of the Corefile, which the metric includes.
    inline_entries: usize,
    entries: Option<Arc<Family<Gauge>>>,
}

impl HostsFile {
    pub fn new(path: PathBuf, parser: LineParser, inline_entries: usize) -> HostsFile {
        let table = ArcSwap::from_pointee(Table::default());
        let followed = Mutex::new(PolledFile::new(path.clone(), MAX_SIZE));
        HostsFile { path, parser, table, followed, inline_entries, entries: register() }
    }

    pub fn table(&self) -> Guard<Arc<Table>> {
        self.table.load()
    }

    /// Reads the file for the first time.
    pub fn read(&self) -> Result<(), Failure> {
        let read = self.followed().read(|file| self.parse(file))?;
        self.publish(read);
        Ok(())
    }

    /// Reads the file if it changed. The table stays if the file cannot be read.
    pub fn refresh(&self) {
        let read = self.followed().poll(LOG, |file| self.parse(file));
        self.publish(read);
    }

    fn followed(&self) -> MutexGuard<'_, PolledFile> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parse(&self, file: &mut Take<File>) -> Result<Table, String> {
        let source = format!("Hosts file {:?}", self.path.display().to_string());
        self.parser.read(BufReader::new(file), &source, LOG).map_err(|error| golang::system_error(&error))
    }

    fn publish(&self, read: Option<(Table, Metadata)>) {
        let Some((table, metadata)) = read else { return };
        LOG.debug(format_args!("Parsed hosts file into {} entries", table.entries()));
        if let Some(entries) = &self.entries {
            let path = self.path.display().to_string();
            entries.with(&[&path]).set((table.entries() + self.inline_entries) as f64);
        }
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        RELOAD_TIME.set(modified.map_or(0.0, |time| time.as_secs_f64()));
        self.table.store(Arc::new(table));
    }
}

/// Registers the metrics; returns the family of entries, with a gauge per file.
pub(super) fn register() -> Option<Arc<Family<Gauge>>> {
    let registry = metrics::registry();
    let help = "The timestamp of the last reload of hosts file.";
    let _ = registry.register_gauge("coredns_hosts_reload_timestamp_seconds", help, &RELOAD_TIME);
    let help = "The combined number of entries in hosts and Corefile.";
    registry.gauges("coredns_hosts_entries", help, &["hostsfile"]).ok()
}
