//! Formats one line of the query log into the thread's buffer, without allocation or lock.

use std::io::Write;
use std::net::IpAddr;

use server::log::{self, Fields};
use server::{Client, Transport};
use wire::{Flags, Name, Query, Rcode, Reply};

use super::format::{Format, Piece, Value};
use super::query_len;

/// The response to the client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Response {
    /// A plugin's reply.
    Reply { flags: Flags },
    /// A failure: the server makes a reply of header and question.
    Failure { flags: Flags },
    /// None: the query is dropped, or not answered yet.
    Nothing,
}

/// The values of a line.
pub(crate) struct Line<'a> {
    pub query: &'a Query,
    pub reply: &'a Reply,
    pub client: &'a Client,
    pub response: Response,
    pub rsize: u64,
    pub nanos: u64,
}

impl Line<'_> {
    pub fn write(&self, format: &Format, metadata: &dyn Fn(&str) -> Option<String>) {
        log::query_record(|out| self.text(format, metadata, out), |fields| self.json(fields));
    }

    pub fn text(&self, format: &Format, metadata: &dyn Fn(&str) -> Option<String>, out: &mut Vec<u8>) {
        for piece in &format.pieces {
            match piece {
                Piece::Literal(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Value(value) => self.value(*value, out),
                // Metadata values are allocated strings: only formats that use them pay for them.
                Piece::Metadata(label) => match metadata(label) {
                    Some(value) => out.extend_from_slice(value.as_bytes()),
                    None => out.push(b'-'),
                },
            }
        }
    }

    fn value(&self, value: Value, out: &mut Vec<u8>) {
        let question = &self.query.question;
        match value {
            Value::Type => code(out, question.qtype.mnemonic(), "TYPE", question.qtype.0),
            Value::Name => name(out, question.lower()),
            Value::Class => code(out, question.qclass.mnemonic(), "CLASS", question.qclass.0),
            Value::Proto => out.extend_from_slice(self.client.transport.proto().as_bytes()),
            Value::Size => number(out, self.size()),
            Value::Remote => address(out, self.client.remote.ip()),
            Value::Port => number(out, u64::from(self.client.remote.port())),
            Value::Local => address(out, self.client.local.ip()),
            Value::Id => number(out, u64::from(self.query.id)),
            Value::Opcode => number(out, u64::from(self.query.opcode.0)),
            Value::Do => out.extend_from_slice(if self.query.dnssec_ok() { b"true" } else { b"false" }),
            Value::Bufsize => number(out, self.bufsize()),
            Value::Rcode => match self.rcode() {
                Some(rcode) => code(out, rcode.mnemonic(), "", rcode.0),
                None => out.push(b'-'),
            },
            Value::Rsize => number(out, self.rsize),
            Value::Duration => duration(out, self.nanos),
            Value::Rflags => match self.response {
                Response::Reply { flags: set } | Response::Failure { flags: set } => flags(out, set),
                Response::Nothing => out.push(b'-'),
            },
        }
    }

    /// The members of CoreDNS's JSON object for a query.
    fn json(&self, fields: &mut Fields<'_>) {
        let question = &self.query.question;
        fields.text("plugin", "log");
        fields.text("client_ip", self.client.remote.ip());
        fields.number("client_port", u64::from(self.client.remote.port()));
        fields.text("qname", question.lower());
        fields.text("qtype", question.qtype);
        fields.text("qclass", question.qclass);
        fields.text("protocol", self.client.transport.proto());
        fields.number("id", u64::from(self.query.id));
        fields.number("opcode", u64::from(self.query.opcode.0));
        fields.number("request_size", self.size());
        fields.flag("dnssec_ok", self.query.dnssec_ok());
        fields.number("bufsize", self.bufsize());
        match self.rcode().map(|rcode| (rcode.mnemonic(), rcode.0)) {
            Some((Some(mnemonic), _)) => fields.text("rcode", mnemonic),
            Some((None, number)) => fields.text("rcode", number),
            None => fields.null("rcode"),
        }
        fields.number("response_size", self.rsize);
        fields.float("duration_seconds", seconds(self.nanos));
    }

    fn rcode(&self) -> Option<Rcode> {
        match self.response {
            Response::Nothing => None,
            _ => Some(self.reply.rcode),
        }
    }

    fn size(&self) -> u64 {
        query_len(self.query, self.reply, self.response)
    }

    fn bufsize(&self) -> u64 {
        match self.client.transport {
            Transport::Udp => self.query.udp_limit() as u64,
            Transport::Tcp => 65535,
        }
    }
}

fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The mnemonic, or prefix and number.
fn code(out: &mut Vec<u8>, mnemonic: Option<&str>, prefix: &str, value: u16) {
    match mnemonic {
        Some(text) => out.extend_from_slice(text.as_bytes()),
        None => {
            out.extend_from_slice(prefix.as_bytes());
            number(out, u64::from(value));
        }
    }
}

fn name(out: &mut Vec<u8>, name: Name<'_>) {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_root() || !name.labels().all(|label| label.iter().all(plain)) {
        // Writing to a Vec cannot fail.
        let _ = write!(out, "{name}");
        return;
    }
    for label in name.labels() {
        out.extend_from_slice(label);
        out.push(b'.');
    }
}

/// IPv6 in brackets, so that a port can follow.
fn address(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => {
            for (at, octet) in ip.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                number(out, u64::from(octet));
            }
        }
        IpAddr::V6(ip) => {
            let _ = write!(out, "[{ip}]");
        }
    }
}

fn flags(out: &mut Vec<u8>, set: Flags) {
    const WORDS: [(Flags, &[u8]); 8] = [
        (Flags::QR, b"qr,"),
        (Flags::AA, b"aa,"),
        (Flags::TC, b"tc,"),
        (Flags::RD, b"rd,"),
        (Flags::RA, b"ra,"),
        (Flags::Z, b"z,"),
        (Flags::AD, b"ad,"),
        (Flags::CD, b"cd,"),
    ];
    let start = out.len();
    for (flag, word) in WORDS {
        if set.has(flag) {
            out.extend_from_slice(word);
        }
    }
    if out.len() > start {
        out.pop();
    }
}

/// Seconds as Go prints them: the shortest decimal that parses to the same float.
fn duration(out: &mut Vec<u8>, nanos: u64) {
    if nanos < 1_000_000_000 {
        // Nine digits always fit a float, so the digits of the nanoseconds are those of the shortest decimal.
        let mut digits = *b"0.000000000";
        let mut value = nanos;
        for digit in digits[2..].iter_mut().rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
        }
        let len = digits.iter().rposition(|digit| !matches!(digit, b'0' | b'.')).map_or(1, |last| last + 1);
        out.extend_from_slice(&digits[..len]);
    } else {
        let _ = write!(out, "{}", seconds(nanos));
    }
    out.push(b's');
}

/// Computed as in Go, with the same rounding.
fn seconds(nanos: u64) -> f64 {
    (nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `strconv.FormatFloat(time.Duration(n).Seconds(), 'f', -1, 64)` prints them.
    #[test]
    fn durations() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "0.000000001s"),
            (100, "0.0000001s"),
            (37_990_251, "0.037990251s"),
            (100_000_000, "0.1s"),
            (999_999_999, "0.999999999s"),
            (1_000_000_000, "1s"),
            (5_001_000_000, "5.001s"),
            (2_000_000_001, "2.000000001s"),
        ] {
            let mut out = Vec::new();
            duration(&mut out, nanos);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }

    /// Below a second the digits of the nanoseconds equal the formatted float.
    #[test]
    fn durations_are_the_shortest_decimals() {
        for nanos in (1..1_000_000_000).step_by(7_654_321) {
            let mut out = Vec::new();
            duration(&mut out, nanos);
            assert_eq!(String::from_utf8_lossy(&out), format!("{}s", seconds(nanos)));
        }
    }
}
