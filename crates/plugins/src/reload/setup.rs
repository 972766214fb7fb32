//! `reload [INTERVAL] [JITTER]`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corefile::{Diagnostic, Dispenser};
use golang::GoDuration;
use metrics::registry;
use server::{CorefilePoll, Lifecycle, Setup};

use super::Reload;

const DEFAULT_INTERVAL: Duration = Duration::from_secs(30);
const DEFAULT_JITTER: Duration = Duration::from_secs(15);
const MIN_INTERVAL: Duration = Duration::from_secs(2);
const MIN_JITTER: Duration = Duration::from_secs(1);

/// Set by the first block with `reload`, the only one to report the configuration.
#[derive(Default)]
struct ReporterAdded(AtomicBool);

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    // As in CoreDNS, only the first line is parsed, and no block after it.
    s.c.next();
    let poll = match s.c.remaining_args()[..] {
        [] => poll(&s.c, None, None)?,
        [interval] => poll(&s.c, Some(interval), None)?,
        [interval, jitter] => poll(&s.c, Some(interval), Some(jitter))?,
        _ => return Err(s.c.arg_err()),
    };
    s.poll_corefile(poll);
    let version_info = registry()
        .gauges(
            "coredns_reload_version_info",
            "A metric with a constant '1' value labeled by hash, and value which type of hash generated.",
            &["hash", "value"],
        )
        .map_err(|error| s.c.bare_err(error))?;
    if !s.shared("", ReporterAdded::default).0.swap(true, Ordering::Relaxed) {
        let digest = s.digest().to_owned();
        s.offer::<dyn Lifecycle>(Arc::new(Reload { digest, version_info }));
    }
    Ok(())
}

fn poll(c: &Dispenser<'_>, interval: Option<&str>, jitter: Option<&str>) -> Result<CorefilePoll, Diagnostic> {
    let read = |text: Option<&str>, default: Duration| match text {
        Some(text) => GoDuration::parse(text).map_err(|error| c.bare_err(error)),
        None => Ok(GoDuration::from(default)),
    };
    let interval = read(interval, DEFAULT_INTERVAL)?
        .above_zero()
        .filter(|interval| *interval >= MIN_INTERVAL)
        .ok_or_else(|| c.bare_err("interval value must be greater or equal to 2s"))?;
    let jitter = read(jitter, DEFAULT_JITTER)?;
    if !jitter.size.is_zero() && jitter.above_zero().is_none_or(|jitter| jitter < MIN_JITTER) {
        return Err(c.bare_err("jitter value must be 0 or greater or equal to 1s"));
    }
    Ok(CorefilePoll { interval, jitter: jitter.size.min(interval / 2) })
}
