//! Headers of the PROXY protocol: any bytes are one, begin one or do not, and more bytes never take that back.

use server::proxied::header::{Found, parse};

use crate::shape::Shape;
use crate::target::Target;

const DICTIONARY: &[&[u8]] = &[
    b"PROXY ",
    b"PROXY UNKNOWN",
    b"TCP4 192.0.2.7 192.0.2.1 40000 53\r\n",
    b"TCP6 2001:db8::7 ::1 40000 53\r\n",
    b"\r\n\r\n\0\r\nQUIT\n",
    b"\x20\x00\0\0",
    b"\x21\x11\0\x0c",
    b"\x21\x12\0\x0c",
    b"\x21\x22\0\x24",
    b"\x21\x31\0\xd8",
    b"\x04\0\x02\0\0",
];

/// Reads headers.
pub struct Proxy;

impl Target for Proxy {
    fn name(&self) -> &'static str {
        "proxy"
    }

    fn max_len(&self) -> usize {
        4200
    }

    fn dictionary(&self) -> &'static [&'static [u8]] {
        DICTIONARY
    }

    fn check(&mut self, input: &[u8]) -> Result<Shape, String> {
        let whole = parse(input);
        let shape = Shape::new();
        let shape = match whole {
            Err(why) => shape.with(why.to_string().as_bytes()),
            Ok(Found::Nothing) => shape.with(b"nothing"),
            Ok(Found::Unsigned) => shape.with(b"unsigned"),
            Ok(Found::Partial) => shape.with(b"partial"),
            Ok(Found::Header(header)) => {
                if header.len > input.len() || header.tlvs.len() > header.len {
                    return Err(format!("the header has {} of {} octets", header.len, input.len()));
                }
                if parse(&input[..header.len]) != whole {
                    return Err("what follows the header changes it".to_owned());
                }
                let facts = [header.version, u8::from(header.local), u8::from(header.datagram)];
                shape.with(facts).with([u8::from(header.source.is_some()), u8::from(header.tlvs.is_empty())])
            }
        };
        // A TCP connection brings a header in pieces.
        for len in (0..input.len().min(300)).step_by(7) {
            let part = parse(&input[..len]);
            if !matches!(part, Ok(Found::Unsigned | Found::Partial)) && part != whole {
                return Err(format!("{len} octets say {part:?}, all of them {whole:?}"));
            }
        }
        Ok(shape)
    }
}
