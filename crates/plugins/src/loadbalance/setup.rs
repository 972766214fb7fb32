//! `loadbalance [round_robin | weighted FILE] { reload DURATION; prefer CIDR... }`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use corefile::reverse::Prefix;
use corefile::{Diagnostic, Dispenser};
use golang::GoDuration;
use server::Setup;

use super::prefer::network;
use super::weights::WeightFile;
use super::{LoadBalance, Policy};
use crate::host_files::polled_file::Failure;

const DEFAULT_RELOAD: Duration = Duration::from_secs(30);
/// CoreDNS's error for a file it cannot open.
const OPEN_ERROR: &str = "weight file open error";

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut weighted = false;
    let mut prefer = Vec::new();
    // The last file named is read and watched, even if a later line chooses another policy.
    let mut file: Option<(Arc<WeightFile>, Duration)> = None;
    while s.c.next() {
        match s.c.remaining_args()[..] {
            [] | ["round_robin"] => weighted = false,
            ["round_robin", ..] => return Err(s.c.err("unknown property for round_robin")),
            ["weighted"] => return Err(s.c.err("missing weight file argument")),
            ["weighted", path] => {
                let path: PathBuf = s.path(path);
                let reload = weighted_block(&mut s.c)?;
                let key = path.display().to_string();
                let make = || WeightFile::new(path);
                // Survives a reload, so that an unreadable file keeps its last good weights.
                let follows = reload > Duration::ZERO;
                file = Some((if follows { s.kept(&key, make) } else { Arc::new(make()) }, reload));
                (weighted, prefer) = (true, Vec::new());
            }
            ["weighted", ..] => return Err(s.c.err("unexpected argument(s)")),
            [other, ..] => return Err(s.c.bare_err(format_args!("unknown policy: {other}"))),
        }
        block(&mut s.c, &mut prefer)?;
    }
    if let Some((file, reload)) = &file {
        read_and_follow(s, file, *reload)?;
    }
    let policy = match file {
        Some((file, _)) if weighted => Policy::Weighted(file),
        _ => Policy::RoundRobin,
    };
    s.add(LoadBalance { policy, prefer });
    Ok(())
}

/// The block of `weighted`, which takes no `prefer`.
fn weighted_block(c: &mut Dispenser<'_>) -> Result<Duration, Diagnostic> {
    let mut reload = DEFAULT_RELOAD;
    while c.next_block() {
        match c.val() {
            "reload" => {
                reload = match c.remaining_args()[..] {
                    [] => return Err(c.err("reload duration value is missing")),
                    // CoreDNS accepts a negative duration here, and then panics.
                    [text] => GoDuration::parse(text)
                        .ok()
                        .and_then(GoDuration::not_negative)
                        .ok_or_else(|| c.err(format_args!("invalid reload duration '{text}'")))?,
                    _ => return Err(c.err("unexpected argument")),
                };
            }
            _ => return Err(c.unknown_property(&["reload"])),
        }
    }
    Ok(reload)
}

fn block(c: &mut Dispenser<'_>, prefer: &mut Vec<Prefix>) -> Result<(), Diagnostic> {
    while c.next_block() {
        match c.val() {
            "prefer" => {
                for text in c.remaining_args() {
                    let error = || c.err(format_args!("invalid CIDR {text:?}: invalid CIDR address: {text}"));
                    prefer.push(network(text).ok_or_else(error)?);
                }
            }
            _ => return Err(c.unknown_property(&["prefer"])),
        }
    }
    Ok(())
}

/// Reads the weights, and again at the interval. A missing file may appear later.
fn read_and_follow(s: &mut Setup<'_>, file: &Arc<WeightFile>, reload: Duration) -> Result<(), Diagnostic> {
    match file.read() {
        Ok(()) => {}
        // A folder, a FIFO, or too large.
        Err(Failure::Open(error)) if error.raw_os_error().is_none() => {
            return Err(s.c.bare_err(format_args!("read {}: {error}", file.path.display())));
        }
        Err(Failure::Open(_)) if reload > Duration::ZERO => {
            let reload = GoDuration::from(reload);
            let text = format!("Failed to open weight file:{OPEN_ERROR}. Will try again in {reload}");
            let warning = s.c.warning(text).in_plugin("loadbalance");
            s.warn(warning);
        }
        Err(Failure::Open(_)) => return Err(s.c.bare_err(OPEN_ERROR)),
        Err(Failure::Contents(why)) => return Err(s.c.bare_err(why)),
    }
    if reload > Duration::ZERO {
        let file = Arc::clone(file);
        s.every(format!("loadbalance: {}", file.path.display()), reload, move || file.refresh());
    }
    Ok(())
}
