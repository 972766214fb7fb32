//! The service that answers fuzzed packets: all plugins that answer or change answers without waiting.

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

use server::{Client, Input, Purpose, Service, Transport, config};

/// `{port}` is a placeholder. Without `erratic`, whose answers depend on the number of earlier queries.
pub const COREFILE: &str = include_str!("service/Corefile");

/// A name for which [`COREFILE`] answers one address.
pub const KNOWN_ANSWER: (&str, [u8; 4]) = ("one.example.", [192, 0, 2, 1]);

/// The service behind [`COREFILE`], without any socket.
static SERVICE: LazyLock<Arc<Service>> = LazyLock::new(|| {
    let contents = COREFILE.replace("{port}", "53").into_bytes();
    let input = Input { name: "Corefile".into(), contents, dns_port: "53".into() };
    let config = config::build(&input, plugins::PLUGINS, &corefile::Memory::new())
        .unwrap_or_else(|errors| panic!("service/Corefile: {errors:?}"));
    let mut services = config.services();
    match (services.next(), services.next()) {
        (Some((_, service)), None) => service.clone(),
        _ => panic!("service/Corefile must serve exactly one address"),
    }
});

/// The reply to a packet; None if the service drops it.
pub fn answer(packet: &[u8], transport: Transport) -> Option<Vec<u8>> {
    let client = Client {
        remote: SocketAddr::from((Ipv4Addr::LOCALHOST, 40_000)),
        local: SocketAddr::from((Ipv4Addr::LOCALHOST, 53)),
        transport,
    };
    // Without a runtime: a plugin that waits is polled once and fails the check.
    match pin!(SERVICE.answer(packet, client, Purpose::Serve)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answered) => answered.packet,
        Poll::Pending => panic!("a plugin in service/Corefile waits; none may"),
    }
}
