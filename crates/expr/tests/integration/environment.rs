//! The environment that CoreDNS gives expressions, with the values of a fixed query.

use expr::{Environment, Error, Function, Prepared, Type, Value, Variables};

const NAMES: [&str; 16] = [
    "incidr",
    "metadata",
    "group",
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

pub fn environment() -> Environment {
    let mut environment = Environment::new();
    for name in NAMES {
        let function = match name {
            "incidr" => Function::new([Type::String, Type::String], Type::Bool).fallible(),
            "metadata" => Function::new([Type::String], Type::String),
            "group" => Function::new([Type::Any], Type::String),
            "size" | "id" | "opcode" | "bufsize" => Function::new([], Type::Int),
            "do" => Function::new([], Type::Bool),
            _ => Function::new([], Type::String),
        };
        environment.function(name, function);
    }
    environment
}

pub struct Query;

impl Variables for Query {
    fn call<'v>(
        &'v self,
        function: usize,
        arguments: &[Value<'v>],
        _: Option<&'v Prepared>,
    ) -> Result<Value<'v>, Error> {
        Ok(match NAMES[function] {
            // The tables use only this network.
            "incidr" => match (arguments[0].as_str(), arguments[1].as_str()) {
                (Some(address), Some("10.0.0.0/8")) if address.contains('.') => {
                    Value::Bool(address.starts_with("10."))
                }
                _ => return Err(Error::new("not an address or not the network")),
            },
            "metadata" => Value::text(format!("md:{}", arguments[0])),
            "group" => Value::text(format!("g:{}", arguments[0])),
            "type" => Value::text("A"),
            "name" => Value::text("www.example.org."),
            "class" => Value::text("IN"),
            "proto" => Value::text("udp"),
            "size" => Value::Int(40),
            "client_ip" => Value::text("10.1.2.3"),
            "port" => Value::text("40000"),
            "id" => Value::Int(1234),
            "opcode" => Value::Int(0),
            "do" => Value::Bool(true),
            "bufsize" => Value::Int(1232),
            "server_ip" => Value::text("127.0.0.1"),
            _ => Value::text("53"),
        })
    }
}
