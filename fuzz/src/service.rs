//! The server that packets are thrown at: every plugin that answers or changes answers without waiting.

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use server::{Answered, Client, Input, Service, Transport, config};

/// `{port}` is to be filled in. `erratic` is left out: its answers depend on how many queries came before.
pub const COREFILE: &str = include_str!("service/Corefile");

/// A question that [`COREFILE`] answers with one address.
pub const KNOWN: (&str, [u8; 4]) = ("one.example.", [192, 0, 2, 1]);

/// The service behind [`COREFILE`], without any socket.
pub fn service() -> Result<Arc<Service>, String> {
    let contents = COREFILE.replace("{port}", "53").into_bytes();
    let input = Input { name: "Corefile".into(), contents, dns_port: "53".into() };
    let config = config::build(&input, plugins::PLUGINS, &corefile::Memory::new())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let mut services = config.services();
    match (services.next(), services.next()) {
        (Some((_, service)), None) => Ok(service.clone()),
        _ => Err("the Corefile must serve exactly one address".to_owned()),
    }
}

/// Answers at once. There is no runtime here; a plugin that wants to wait would be asked once and given up.
pub fn answer(service: &Arc<Service>, packet: &[u8], transport: Transport) -> Result<Answered, String> {
    let client = Client {
        remote: SocketAddr::from((Ipv4Addr::LOCALHOST, 40_000)),
        local: SocketAddr::from((Ipv4Addr::LOCALHOST, 53)),
        transport,
    };
    match pin!(service.answer(packet, client)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answered) => Ok(answered),
        Poll::Pending => Err("a plugin waits, although none of these should".to_owned()),
    }
}
