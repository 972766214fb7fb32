//! The functions about a query in expressions of `view` and `template`, with CoreDNS's names.

use std::cell::OnceCell;
use std::fmt::Write;
use std::net::IpAddr;

use corefile::reverse::Prefix;
use expr::{Environment, Error, Function, Prepared, Type, Value, Variables};
use server::{Client, Transport};
use wire::Query;

use crate::messages::name_text::NameText;

/// The functions, by index in the environment.
const NAMES: [&str; 15] = [
    "incidr",
    "metadata",
    "type",
    "name",
    "class",
    "proto",
    "size",
    "client_ip",
    "port",
    "id",
    "opcode",
    "do",
    "bufsize",
    "server_ip",
    "server_port",
];

/// Declares the functions. Further declarations get the indices after these.
pub(crate) fn environment() -> Environment {
    let mut environment = Environment::new();
    for name in NAMES {
        let function = match name {
            "incidr" => Function::new([Type::String, Type::String], Type::Bool)
                .fallible()
                .prepared_by(constant_network),
            "metadata" => Function::new([Type::String], Type::String),
            "size" | "id" | "opcode" | "bufsize" => Function::new([], Type::Int),
            "do" => Function::new([], Type::Bool),
            _ => Function::new([], Type::String),
        };
        environment.function(name, function);
    }
    environment
}

/// The values of a query; texts are formatted on first use, without the heap.
pub(crate) struct QueryVariables<'q> {
    query: &'q Query,
    client: &'q Client,
    metadata: &'q dyn Fn(&str) -> Option<String>,
    name: OnceCell<NameText>,
    type_name: OnceCell<ShortText>,
    class_name: OnceCell<ShortText>,
    client_ip: OnceCell<ShortText>,
    client_port: OnceCell<ShortText>,
    server_ip: OnceCell<ShortText>,
    server_port: OnceCell<ShortText>,
}

impl<'q> QueryVariables<'q> {
    pub fn new(
        query: &'q Query,
        client: &'q Client,
        metadata: &'q dyn Fn(&str) -> Option<String>,
    ) -> QueryVariables<'q> {
        QueryVariables {
            query,
            client,
            metadata,
            name: OnceCell::new(),
            type_name: OnceCell::new(),
            class_name: OnceCell::new(),
            client_ip: OnceCell::new(),
            client_port: OnceCell::new(),
            server_ip: OnceCell::new(),
            server_port: OnceCell::new(),
        }
    }
}

impl Variables for QueryVariables<'_> {
    fn call<'v>(
        &'v self,
        function: usize,
        arguments: &[Value<'v>],
        prepared: Option<&'v Prepared>,
    ) -> Result<Value<'v>, Error> {
        let question = &self.query.question;
        let short = |cell: &'v OnceCell<ShortText>, text: std::fmt::Arguments<'_>| {
            Value::text(cell.get_or_init(|| ShortText::of(text)).as_str())
        };
        let code = |cell, mnemonic: Option<&'static str>, prefix: &str, number: u16| match mnemonic {
            Some(mnemonic) => Value::text(mnemonic),
            None => short(cell, format_args!("{prefix}{number}")),
        };
        Ok(match NAMES.get(function).copied().unwrap_or_default() {
            "incidr" => return in_cidr(arguments, prepared),
            "metadata" => {
                let label = arguments.first().and_then(Value::as_str).unwrap_or_default();
                (self.metadata)(label).map_or(Value::text(""), Value::text)
            }
            "type" => code(&self.type_name, question.qtype.mnemonic(), "TYPE", question.qtype.0),
            "name" => Value::text(&**self.name.get_or_init(|| NameText::of(question.lower()))),
            "class" => code(&self.class_name, question.qclass.mnemonic(), "CLASS", question.qclass.0),
            "proto" => Value::text(self.client.transport.proto()),
            "size" => Value::Int(self.query.plain_len() as i64),
            "client_ip" => short(&self.client_ip, format_args!("{}", self.client.remote.ip())),
            "port" => short(&self.client_port, format_args!("{}", self.client.remote.port())),
            "id" => Value::Int(i64::from(self.query.id)),
            "opcode" => Value::Int(i64::from(self.query.opcode.0)),
            "do" => Value::Bool(self.query.dnssec_ok()),
            "bufsize" => Value::Int(match self.client.transport {
                Transport::Udp => self.query.udp_limit() as i64,
                Transport::Tcp => i64::from(u16::MAX),
            }),
            "server_ip" => short(&self.server_ip, format_args!("{}", self.client.local.ip())),
            "server_port" => short(&self.server_port, format_args!("{}", self.client.local.port())),
            _ => return Err(Error::new("no such function")),
        })
    }
}

/// The text of an address, a port or a code, stored inline; all of them fit.
struct ShortText {
    bytes: [u8; 48],
    len: usize,
}

impl ShortText {
    fn of(text: std::fmt::Arguments<'_>) -> ShortText {
        let mut short = ShortText { bytes: [0; 48], len: 0 };
        let _ = short.write_fmt(text);
        short
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// `incidr(ip, cidr)` with a constant network, which is the usual case.
fn constant_network(arguments: &[Option<&Value<'static>>]) -> Option<Prepared> {
    let text = arguments.get(1).copied().flatten()?.as_str()?;
    Some(Box::new(Prefix::parse(text)?))
}

fn in_cidr<'v>(arguments: &[Value<'v>], prepared: Option<&Prepared>) -> Result<Value<'v>, Error> {
    let text = |place: usize| arguments.get(place).and_then(Value::as_str).unwrap_or_default();
    let Ok(address) = text(0).parse::<IpAddr>() else {
        return Err(Error::new("first argument is not an IP address"));
    };
    let network = match prepared.and_then(|prepared| prepared.downcast_ref::<Prefix>()) {
        Some(network) => *network,
        None => {
            Prefix::parse(text(1)).ok_or_else(|| Error::new(format!("invalid CIDR address: {}", text(1))))?
        }
    };
    Ok(Value::Bool(contains(&network, address)))
}

/// Whether an address is in a network. IPv4-mapped IPv6 is IPv4, on both sides.
fn contains(network: &Prefix, address: IpAddr) -> bool {
    let (base, bits) = match (network.address, network.address.to_canonical(), network.bits) {
        (IpAddr::V6(_), base @ IpAddr::V4(_), bits @ 96..) => (base, bits - 96),
        (base, _, bits) => (base, bits),
    };
    let same = |difference: u128, width: u32| {
        difference.checked_shr(width - bits.min(width)).unwrap_or_default() == 0
    };
    match (base, address.to_canonical()) {
        (IpAddr::V4(base), IpAddr::V4(address)) => same(u128::from(base.to_bits() ^ address.to_bits()), 32),
        (IpAddr::V6(base), IpAddr::V6(address)) => same(base.to_bits() ^ address.to_bits(), 128),
        _ => false,
    }
}
