//! The moving Service: its endpoint's address changes, and its answer shows a server's progress.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::cluster::objects::{Object, Resource};
use testkit::error::Result;
use testkit::message::Message;

use crate::client::Client;
use crate::data::ZONE;
use crate::probe::{self, Probe, Type};

pub const NAMESPACE: &str = "moving";
const NAME: &str = "moving";
const SLICE: &str = "moving-1";

pub fn service() -> Object {
    let body = json!({
        "metadata": {"name": NAME},
        "spec": {"clusterIP": "None", "ports": [{"name": "http", "protocol": "TCP", "port": 80}]},
    });
    Object::new(Resource::Service, NAMESPACE, NAME, body)
}

/// Its slice after the `n`th move.
pub fn slice(n: u16) -> Object {
    let mut body = endpoints(n);
    body["metadata"] = json!({"name": SLICE, "labels": {"kubernetes.io/service-name": NAME}});
    body["addressType"] = "IPv4".into();
    body["ports"] = json!([{"name": "http", "protocol": "TCP", "port": 8080}]);
    Object::new(Resource::EndpointSlice, NAMESPACE, SLICE, body)
}

/// The changed part of the slice.
pub fn endpoints(n: u16) -> Value {
    json!({"endpoints": [{"addresses": [address(n)], "conditions": {"ready": true}}]})
}

fn address(n: u16) -> Ipv4Addr {
    let [high, low] = n.to_be_bytes();
    Ipv4Addr::new(10, 255, high, low)
}

/// The number of the move in a line of a watch.
pub fn read(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("\"10.255.")?;
    let (high, low) = rest.split_once('"')?.0.split_once('.')?;
    Some(u16::from_be_bytes([high.parse().ok()?, low.parse().ok()?]))
}

/// Queries one server for the Service's address.
pub struct Follower {
    client: Client,
    packet: Vec<u8>,
}

impl Follower {
    pub fn new(client: Client) -> Result<Self> {
        let packet = Probe::new(&format!("{NAME}.{NAMESPACE}.{ZONE}."), Type::A, []).packet()?;
        Ok(Self { client, packet })
    }

    /// The number of the move in the server's answer; none without an answer.
    pub fn at(&self, timeout: Duration) -> Result<Option<u16>> {
        Ok(self.client.query(&self.packet, timeout)?.as_ref().and_then(moves))
    }
}

fn moves(reply: &Message) -> Option<u16> {
    let [10, 255, high, low] = probe::address(reply.answer.first()?)?.octets() else { return None };
    Some(u16::from_be_bytes([high, low]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_round_trip() {
        for n in [0, 1, 255, 256, 0xABCD] {
            assert_eq!(read(&json!({"type": "MODIFIED", "object": endpoints(n)}).to_string()), Some(n));
        }
        assert_eq!(read("{}"), None);
    }
}
