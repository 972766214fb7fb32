//! The weight file: names, each followed by its addresses with a weight between 1 and 255.

use std::fs::File;
use std::io::Take;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::{ArcSwap, Guard};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use wire::{Name, NameBuf};

use super::LOG;
use super::prefer::address;
use crate::host_files::polled_file::{Failure, PolledFile, whole};

/// CoreDNS rejects lines of this length.
const MAX_LINE: usize = 64 * 1024;

pub(super) struct WeightFile {
    pub path: PathBuf,
    weights: ArcSwap<Weights>,
    followed: Mutex<PolledFile>,
}

/// Weights by name. Names are case-sensitive: CoreDNS compares them octet by octet.
#[derive(Default, Debug)]
pub(super) struct Weights {
    names: HashMap<Box<[u8]>, Vec<(IpAddr, u8)>, RandomState>,
}

impl Weights {
    /// The weight of a name's address, given as record data; 1 if not in the file.
    pub fn of(&self, name: Name<'_>, data: &[u8]) -> u8 {
        let Some(weights) = self.names.get(name.wire()) else { return 1 };
        let Some(address) = address(data) else { return 1 };
        weights.iter().find(|(known, _)| *known == address).map_or(1, |(_, weight)| *weight)
    }
}

impl WeightFile {
    pub fn new(path: PathBuf) -> WeightFile {
        let followed = Mutex::new(PolledFile::new(path.clone(), files::DEFAULT_LIMIT));
        WeightFile { path, weights: ArcSwap::from_pointee(Weights::default()), followed }
    }

    pub fn weights(&self) -> Guard<Arc<Weights>> {
        self.weights.load()
    }

    /// Reads the file for the first time.
    pub fn read(&self) -> Result<(), Failure> {
        let read = self.followed().read(|file| self.load(file))?;
        self.publish(read.map(|(weights, _)| weights));
        Ok(())
    }

    /// Reads the file if it changed. An invalid file leaves the weights unchanged.
    pub fn refresh(&self) {
        let read = self.followed().poll(LOG, |file| self.load(file));
        self.publish(read.map(|(weights, _)| weights));
    }

    fn followed(&self) -> MutexGuard<'_, PolledFile> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load(&self, file: &mut Take<File>) -> Result<Weights, String> {
        parse(&String::from_utf8_lossy(&whole(file)?), &self.path.display().to_string())
    }

    fn publish(&self, weights: Option<Weights>) {
        let Some(weights) = weights else { return };
        self.weights.store(Arc::new(weights));
        LOG.info(format_args!("Successfully reloaded weight file {}", self.path.display()));
    }
}

/// Parses lines of one field, a name, or two, an address of that name and its weight.
pub(super) fn parse(contents: &str, file: &str) -> Result<Weights, String> {
    let mut weights = Weights::default();
    let mut name: Option<&str> = None;
    for line in contents.split('\n') {
        if line.len() >= MAX_LINE {
            return Err(format!("weight file {file} parsing error:bufio.Scanner: token too long"));
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(word), None, _) if word.parse::<IpAddr>().is_ok() => {
                let hint = "(Maybe a missing weight value?)";
                return Err(format!("wrong domain name:\"{word}\" in weight file {file}. {hint}"));
            }
            (Some(word), None, _) => name = Some(word),
            (Some(address), Some(weight), None) => {
                let Ok(ip) = address.parse::<IpAddr>() else {
                    return Err(format!("wrong IP address:\"{address}\" in weight file {file}"));
                };
                let digits = weight.bytes().all(|byte| byte.is_ascii_digit());
                let Some(value @ 1..) = weight.parse::<u8>().ok().filter(|_| digits) else {
                    return Err(format!("wrong weight value:\"{weight}\" in weight file {file}"));
                };
                let name = name.ok_or_else(|| format!("missing domain name in weight file {file}"))?;
                if let Some(key) = key(name) {
                    weights.names.entry(key).or_default().push((ip.to_canonical(), value));
                }
            }
            _ => return Err(format!("could not parse weight line:\"{line}\" in weight file {file}")),
        }
    }
    Ok(weights)
}

/// The name in wire form; None if no reply can have it: an invalid name, or one with other escapes.
fn key(text: &str) -> Option<Box<[u8]>> {
    let name = NameBuf::parse(text).ok()?;
    let canonical = name.to_string();
    (canonical == text || canonical.strip_suffix('.') == Some(text)).then(|| name.wire().into())
}
