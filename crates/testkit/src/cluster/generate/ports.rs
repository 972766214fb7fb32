//! Ports of Services and of the endpoints behind them.

use serde_json::{Value, json};

use super::ObjectGenerator;
use crate::cluster::objects::{list, text};

const NAMES: [&str; 9] = ["http", "https", "dns", "dns-tcp", "metrics", "tcp", "a", "10", "a-port-with-15c"];

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];

impl ObjectGenerator {
    /// Valid ports of a Service, at least one: a single one needs no name.
    pub(super) fn ports(&mut self) -> Value {
        let count = *self.random.weighted(&[(5, 1), (3, 2), (1, 3), (1, 5)]);
        if count == 1 && self.random.chance(0.4) {
            return json!([{"port": self.port_number(), "protocol": *self.random.pick(&PROTOCOLS)}]);
        }
        let from = self.random.below(NAMES.len());
        let ports: Vec<Value> = (0..count)
            .map(|i| {
                let name = NAMES[(from + i) % NAMES.len()];
                let mut port = json!({"name": name, "port": self.port_number() + i});
                // The default is TCP.
                if self.random.chance(0.8) {
                    port["protocol"] = (*self.random.pick(&PROTOCOLS)).into();
                }
                port
            })
            .collect();
        ports.into()
    }

    /// Ports of a slice: mostly those of its Service, or anything the API accepts. Null: field absent.
    pub(super) fn slice_ports(&mut self, of_service: &Value) -> Value {
        let same: Vec<Value> = list(of_service, "")
            .iter()
            .map(|port| {
                let mut port = port.clone();
                if self.random.chance(0.3) {
                    // The target port differs.
                    port["port"] = self.port_number().into();
                }
                port
            })
            .collect();
        match self.random.below(12) {
            0 => Value::Null,
            1 => json!([]),
            2 => json!([{"port": self.port_number()}]),
            // All ports.
            3 => json!([{"name": "http"}, {"name": "dns", "port": 53, "protocol": "UDP"}]),
            4 => json!([{"name": text(&same.first().cloned().unwrap_or_default(), "/name"), "port": 9}]),
            5 => self.ports(),
            _ => same.into(),
        }
    }

    fn port_number(&mut self) -> usize {
        *self.random.pick(&[53, 80, 443, 8080, 1, 65_000])
    }
}
