//! Log lines about invalid packets of proxies: at most one a second, so that nobody can fill the disk with them.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::header::HeaderError;
use crate::log;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
/// The second, from 1, of the last log line.
static LAST: AtomicU64 = AtomicU64::new(0);
static SUPPRESSED: AtomicU64 = AtomicU64::new(0);

pub(crate) fn warn(sender: SocketAddr, why: HeaderError) {
    let second = START.elapsed().as_secs() + 1;
    if LAST.swap(second, Ordering::Relaxed) == second {
        SUPPRESSED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let text = format!("dropping invalid Proxy Protocol packet from {sender}: {why}");
    match SUPPRESSED.swap(0, Ordering::Relaxed) {
        0 => log::warning(None, format_args!("{text}")),
        suppressed => log::warning(None, format_args!("{text} ({suppressed} more since the last line)")),
    }
}
