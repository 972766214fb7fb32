//! The query to ourselves.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use upstream::{Network, Options, Scheme, Upstream};
use wire::{NameBuf, Query, Rtype};

use super::Watch;

/// How long to try; the listeners may not be up at once.
const TRY_FOR: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(1);
/// How long after an answer the name is still watched: the answer may overtake the loop.
const LINGER: Duration = Duration::from_secs(2);
const UDP_SIZE: u16 = 512;

/// Asks until there is an answer of any kind. From then on the name means nothing, so that who finds it out
/// cannot end the process with it.
pub(super) async fn run(watch: Arc<Watch>) {
    let end = Instant::now() + TRY_FOR;
    if let Some(addr) = watch.address.get().and_then(|address| target(address)) {
        // Not one of the upstreams people count.
        let upstream = Upstream::new(Options { proxy_name: "", ..Options::new(Scheme::Dns, addr) });
        let packet = Query::ask(watch.name.as_name(), Rtype::HINFO).to_packet();
        while Instant::now() < end && !watch.off.load(Ordering::Relaxed) {
            if upstream.exchange(&packet, Network::Udp, UDP_SIZE).await.is_ok() {
                sleep(LINGER).await;
                break;
            }
            // The next attempt counts from the beginning: it is asked under the same name.
            watch.seen.store(0, Ordering::Relaxed);
            sleep(PAUSE).await;
        }
        upstream.stop();
    }
    watch.off.store(true, Ordering::Relaxed);
}

/// Where to reach a listener from here; one on all addresses is found on the loopback.
pub(super) fn target(address: &str) -> Option<SocketAddr> {
    let addr: SocketAddr = match address.strip_prefix(':') {
        Some(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port.parse().ok()?),
        None => address.parse().ok()?,
    };
    if addr.ip().is_unspecified() {
        return Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), addr.port()));
    }
    Some(addr)
}

/// A name under the zone that nobody can guess: two random numbers of 62 bits.
/// None under a zone that leaves no room for it.
pub(super) fn name(zone: &NameBuf) -> Option<NameBuf> {
    let mut name = zone.clone();
    let fits = (0..2).all(|_| name.prepend((rand::random::<u64>() >> 2).to_string().as_bytes()));
    fits.then_some(name)
}
