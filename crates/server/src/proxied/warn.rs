//! The log of packets that proxies got wrong: one line a second, so that nobody can fill the disk with them.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::header::Malformed;
use crate::log;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
/// The second, from 1, in which something was logged last.
static LAST: AtomicU64 = AtomicU64::new(0);
static UNSEEN: AtomicU64 = AtomicU64::new(0);

pub(crate) fn warn(sender: SocketAddr, why: Malformed) {
    let second = START.elapsed().as_secs() + 1;
    if LAST.swap(second, Ordering::Relaxed) == second {
        UNSEEN.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let text = format!("dropping invalid Proxy Protocol packet from {sender}: {why}");
    match UNSEEN.swap(0, Ordering::Relaxed) {
        0 => log::warning(None, format_args!("{text}")),
        unseen => log::warning(None, format_args!("{text} ({unseen} more before)")),
    }
}
