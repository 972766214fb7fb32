//! SVCB and HTTPS (RFC 9460): priority, target and parameters.

use std::net::IpAddr;

use super::Problem;
use super::fields::{Fields, base64, number};
use super::lex::{Kind, Token};
use wire::form::PARAMETERS;

const MANDATORY: u16 = 0;
const ALPN: u16 = 1;
const NO_DEFAULT_ALPN: u16 = 2;
const PORT: u16 = 3;
const IPV4_HINT: u16 = 4;
const ECH: u16 = 5;
const IPV6_HINT: u16 = 6;
const DOH_PATH: u16 = 7;
const OHTTP: u16 = 8;
/// Reserved as "invalid key" (RFC 9460 §14.3.2).
const RESERVED: u16 = 65535;

impl<'a> Fields<'_, 'a> {
    pub(super) fn service_parameters(&mut self) -> Result<(), Problem> {
        let mut parameters = self.parameters()?;
        parameters.sort_by_key(|(key, _)| *key);
        // Duplicate keys have no wire format.
        self.unwritable |= parameters.windows(2).any(|pair| pair[0].0 == pair[1].0);
        for (key, value) in parameters {
            self.out.extend_from_slice(&key.to_be_bytes());
            self.out.extend_from_slice(&(value.len() as u16).to_be_bytes());
            self.out.extend_from_slice(&value);
        }
        Ok(())
    }

    fn parameters(&mut self) -> Result<Vec<(u16, Vec<u8>)>, Problem> {
        const EXPECTED: &str = "parameters KEY=VALUE";
        let mut parameters = Vec::new();
        let mut may_follow = true;
        loop {
            let mut token = self.next();
            match token.kind {
                _ if token.bad => return Err(self.bad(EXPECTED, &token)),
                Kind::Newline | Kind::End => return Ok(parameters),
                Kind::Text if !may_follow => {
                    return Err(self
                        .bad("a blank after a quoted value", &token)
                        .renamed("bad SVCB value quotation"));
                }
                Kind::Text => {
                    let start = token.clone();
                    let bad_key = |fields: &Self, token: &Token<'_>| {
                        let problem = fields.bad("a parameter name of RFC 9460 or keyNNNNN", &start);
                        problem.renamed("bad SVCB key").reported_at(token, fields.strict)
                    };
                    let text = token.text.to_vec();
                    let (key, mut value) = match text.iter().position(|byte| *byte == b'=') {
                        None => (&text[..], None),
                        Some(0) => return Err(bad_key(self, &token)),
                        Some(at) => (&text[..at], Some(text[at + 1..].to_vec())),
                    };
                    // miekg/dns skips this token, whatever it is.
                    let is_empty = value.as_ref().is_some_and(Vec::is_empty);
                    if is_empty && (!self.strict || self.tokens.peek().kind == Kind::Quote) {
                        token = self.next();
                        if token.kind == Kind::Quote {
                            may_follow = false;
                            value = Some(self.quoted_value(&mut token)?);
                        }
                    }
                    // RFC 9460 §2.1: a value after a number is only octets, also that of a known key.
                    let by_number = key.starts_with(b"key");
                    let key = key_number(key, self.strict);
                    if key == RESERVED {
                        return Err(bad_key(self, &token));
                    }
                    // miekg/dns drops the message of an invalid value.
                    let value = value.unwrap_or_default();
                    let read = match by_number {
                        true => opaque_parameter(key, &value).map(Some),
                        false => parameter(key, &value, self.strict),
                    };
                    let value = read.map_err(|message| {
                        Problem::new("", &start).expected(message).reported_at(&token, self.strict)
                    })?;
                    match value {
                        Some(value) => parameters.push((key, value)),
                        None => self.unwritable = true,
                    }
                }
                Kind::Quote => {
                    return Err(self.bad(EXPECTED, &token).renamed("SVCB key can't contain double quotes"));
                }
                Kind::Blank => may_follow = true,
                _ => return Err(self.bad(EXPECTED, &token)),
            }
        }
    }

    /// The value after its opening quote; sets `token` to the last token read.
    fn quoted_value(&mut self, token: &mut Token<'a>) -> Result<Vec<u8>, Problem> {
        *token = self.next();
        match token.kind {
            Kind::Quote => Ok(Vec::new()),
            Kind::Text => {
                let value = token.text.to_vec();
                *token = self.next();
                if token.kind == Kind::Quote {
                    Ok(value)
                } else {
                    Err(self.bad("a closing quote", token).renamed("SVCB unterminated value"))
                }
            }
            _ => Err(self.bad("a value in quotes", token).renamed("bad SVCB value")),
        }
    }
}

fn key_number(name: &[u8], strict: bool) -> u16 {
    if let Some(digits) = name.strip_prefix(b"key") {
        let found = number(digits, u64::from(u16::MAX) - 1).map(|key| key as u16);
        // miekg/dns refuses known keys unless they are written by name.
        let plain = digits.len() == 1 || digits.first() != Some(&b'0');
        return found.filter(|key| plain && (strict || *key > OHTTP)).unwrap_or(RESERVED);
    }
    PARAMETERS.iter().find(|(known, _)| known.as_bytes() == name).map_or(RESERVED, |(_, key)| *key)
}

/// A parameter's value in wire format; `None` if it has none.
fn parameter(key: u16, text: &[u8], strict: bool) -> Result<Option<Vec<u8>>, String> {
    if strict && text.is_empty() && matches!(key, MANDATORY | ALPN | ECH) {
        let name = PARAMETERS.iter().find(|(_, number)| *number == key).map_or("", |(name, _)| name);
        return Err(format!("{name}: expected a value"));
    }
    let value = match key {
        MANDATORY => {
            let keys = text.split(|byte| *byte == b',').filter(|_| !text.is_empty());
            let mut keys: Vec<u16> = keys.map(|key| key_number(key, strict)).collect();
            if strict && keys.contains(&RESERVED) {
                return Err("mandatory: expected parameter names with commas".into());
            }
            if text.ends_with(b",") {
                keys.pop();
            }
            keys.sort_unstable();
            keys.iter().flat_map(|key| key.to_be_bytes()).collect()
        }
        ALPN => return alpn(text),
        NO_DEFAULT_ALPN if !text.is_empty() => {
            return Err("no-default-alpn must have no value".into());
        }
        OHTTP if !text.is_empty() => return Err("ohttp must have no value".into()),
        NO_DEFAULT_ALPN | OHTTP => Vec::new(),
        PORT => match number(text, u64::from(u16::MAX)) {
            Some(port) => (port as u16).to_be_bytes().to_vec(),
            None => return Err("port: expected a number from 0 to 65535".into()),
        },
        IPV4_HINT => ipv4_hints(text)?,
        IPV6_HINT => ipv6_hints(text)?,
        ECH => base64(text).ok_or("ech: expected base 64")?,
        DOH_PATH => opaque(text).map_err(|message| format!("dohpath: {message}"))?,
        _ => opaque_parameter(key, text)?,
    };
    Ok(Some(value))
}

fn opaque_parameter(key: u16, text: &[u8]) -> Result<Vec<u8>, String> {
    opaque(text).map_err(|message| format!("key{key}: {message}"))
}

/// Protocol identifiers, each after its length; a comma or backslash inside one is escaped twice.
fn alpn(text: &[u8]) -> Result<Option<Vec<u8>>, String> {
    if text.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut protocols: Vec<Vec<u8>> = vec![Vec::new()];
    let mut rest = text;
    while !rest.is_empty() {
        let mut byte = next_byte(&mut rest).ok_or("alpn: unterminated escape")?;
        let last = protocols.len() - 1;
        if byte == b',' {
            if protocols[last].is_empty() {
                return Err("alpn: empty protocol identifier".into());
            }
            protocols.push(Vec::new());
            continue;
        }
        if byte == b'\\' {
            byte = next_byte(&mut rest).ok_or("alpn: unterminated escape decoding comma-separated list")?;
            if byte != b'\\' && byte != b',' {
                return Err("alpn: bad escaped character decoding comma-separated list".into());
            }
        }
        protocols[last].push(byte);
    }
    if protocols.last().is_none_or(Vec::is_empty) {
        return Err("alpn: last protocol identifier empty".into());
    }
    let mut out = Vec::new();
    for protocol in protocols {
        let Ok(len) = u8::try_from(protocol.len()) else { return Ok(None) };
        out.push(len);
        out.extend_from_slice(&protocol);
    }
    Ok(Some(out))
}

/// One octet of a value: plain, `\DDD` or an escaped one.
fn next_byte(rest: &mut &[u8]) -> Option<u8> {
    let (byte, after) = match *rest {
        [b'\\', a, b, c, after @ ..] if [a, b, c].iter().all(|digit| digit.is_ascii_digit()) => {
            let digit = |byte: &u8| u32::from(byte - b'0');
            ((digit(a) * 100 + digit(b) * 10 + digit(c)) as u8, after)
        }
        [b'\\', byte, after @ ..] => (*byte, after),
        [b'\\'] | [] => return None,
        [byte, after @ ..] => (*byte, after),
    };
    *rest = after;
    Some(byte)
}

fn hints(text: &[u8]) -> impl Iterator<Item = Option<IpAddr>> {
    // A trailing comma is ignored.
    let text = text.strip_suffix(b",").unwrap_or(text);
    text.split(|byte| *byte == b',').map(|part| std::str::from_utf8(part).ok()?.parse().ok())
}

fn ipv4_hints(text: &[u8]) -> Result<Vec<u8>, &'static str> {
    if text.is_empty() {
        return Err("ipv4hint: expected IPv4 addresses");
    }
    if text.contains(&b':') {
        return Err("ipv4hint: expected IPv4 addresses");
    }
    let mut out = Vec::new();
    for hint in hints(text) {
        match hint {
            Some(IpAddr::V4(address)) => out.extend_from_slice(&address.octets()),
            _ => return Err("ipv4hint: expected IPv4 addresses"),
        }
    }
    Ok(out)
}

fn ipv6_hints(text: &[u8]) -> Result<Vec<u8>, &'static str> {
    if text.is_empty() {
        return Err("ipv6hint: expected IPv6 addresses");
    }
    let mut out = Vec::new();
    for hint in hints(text) {
        match hint {
            Some(IpAddr::V6(address)) if address.to_ipv4_mapped().is_none() => {
                out.extend_from_slice(&address.octets());
            }
            Some(_) => {
                return Err("ipv6hint: expected IPv6 addresses");
            }
            None => return Err("ipv6hint: expected IPv6 addresses"),
        }
    }
    Ok(out)
}

/// Decodes octets with escapes.
fn opaque(text: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match *rest {
            [] => return Err("an escape is not complete"),
            [a @ b'0'..=b'9', ..] => {
                let [b @ b'0'..=b'9', c @ b'0'..=b'9', ..] = rest[1..] else {
                    return Err("expected an escape from \\000 to \\255");
                };
                let value = u32::from(a - b'0') * 100 + u32::from(b - b'0') * 10 + u32::from(c - b'0');
                out.push(u8::try_from(value).map_err(|_| "expected an escape from \\000 to \\255")?);
                rest = &rest[3..];
            }
            [byte, ..] => {
                out.push(byte);
                rest = &rest[1..];
            }
        }
    }
    Ok(out)
}
