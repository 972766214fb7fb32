//! The probe: a query to the server itself.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use upstream::{Network, Options, Scheme, Upstream};
use wire::{NameBuf, Query, Rtype};

use super::ProbeState;

/// How long to retry; listeners may not be up at once.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// How long to count after a reply, which may arrive before the looping query.
const LINGER: Duration = Duration::from_secs(2);
const UDP_SIZE: u16 = 512;

/// Sends the probe until there is a reply of any kind. Then the name loses its meaning, so that a client that learns it
/// cannot stop the process.
pub(super) async fn run(state: Arc<ProbeState>) {
    let end = Instant::now() + PROBE_TIMEOUT;
    if let Some(addr) = target(&state.address) {
        // Without a proxy name it is not counted in the metrics.
        let upstream = Upstream::new(Options { proxy_name: "", ..Options::new(Scheme::Dns, addr) });
        let packet = Query::ask(state.name.as_name(), Rtype::HINFO).to_packet();
        while Instant::now() < end && !state.off.load(Ordering::Relaxed) {
            if upstream.exchange(&packet, Network::Udp, UDP_SIZE).await.is_ok() {
                sleep(LINGER).await;
                break;
            }
            // The next attempt uses the same name, so the count restarts.
            state.seen.store(0, Ordering::Relaxed);
            sleep(RETRY_INTERVAL).await;
        }
        upstream.stop();
    }
    state.off.store(true, Ordering::Relaxed);
}

/// The address to reach a listener at; the loopback for one on all addresses.
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

/// An unguessable name under the zone: two random numbers of 62 bits. None if the zone leaves no room.
pub(super) fn name(zone: &NameBuf) -> Option<NameBuf> {
    let mut name = zone.clone();
    let fits = (0..2).all(|_| name.prepend((rand::random::<u64>() >> 2).to_string().as_bytes()));
    fits.then_some(name)
}
