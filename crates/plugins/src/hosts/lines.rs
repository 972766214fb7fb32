//! Parses lines of a hosts file: an address, its names, an optional comment.
//!
//! Nothing in a hosts file is an error: a line without a valid address is ignored, and so are invalid names.

use std::io::{self, BufRead, Read};
use std::net::IpAddr;

use server::log;
use wire::NameBuf;

use super::table::{Builder, Table};
use crate::options::is_under_any;

/// Maximum length of a field; no address or name is longer.
const MAX_FIELD: usize = 1024;
/// Maximum length of a line, which bounds memory.
const MAX_LINE: u64 = 1 << 20;

pub(super) struct LineParser {
    /// Names outside of these are ignored.
    pub zones: Vec<NameBuf>,
    /// Whether to index names by address, for PTR queries.
    pub reverse: bool,
}

impl LineParser {
    /// Reads a whole file. `source` names it in the log.
    pub fn read(&self, mut input: impl BufRead, source: &str, log: log::Logger) -> io::Result<Table> {
        let mut builder = Builder::default();
        let (mut line, mut number) = (Vec::new(), 0);
        while Read::take(&mut input, MAX_LINE).read_until(b'\n', &mut line)? > 0 {
            number += 1;
            if line.len() as u64 == MAX_LINE {
                let text = format!("line {number} is longer than {MAX_LINE} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            self.read_line(&line, &mut builder, |error| {
                log.error(format_args!("{source}, line {number}: {error}"));
            });
            line.clear();
        }
        Ok(builder.finish())
    }

    fn read_line(&self, line: &[u8], builder: &mut Builder, log_error: impl Fn(&str)) {
        let text = line.split(|&byte| byte == b'#').next().unwrap_or_default();
        let mut fields =
            text.split(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).filter(|field| !field.is_empty());
        let Some(first) = fields.next() else { return };
        if first.len() > MAX_FIELD {
            return log_error("address longer than 1024 bytes, dropping the line");
        }
        let Some(address) = address(first) else { return };
        for field in fields {
            if field.len() > MAX_FIELD {
                log_error("name longer than 1024 bytes, dropping the name");
                continue;
            }
            self.add(field, address, builder);
        }
    }

    fn add(&self, field: &[u8], address: IpAddr, builder: &mut Builder) {
        let text = lower(&String::from_utf8_lossy(field));
        let Ok(name) = NameBuf::parse(&text) else { return };
        if !is_under_any(name.as_name(), &self.zones) {
            return;
        }
        let findable = is_canonical(&text, &name);
        if text == "*" || text.starts_with("*.") {
            builder.add_wildcard(&name, findable, address);
        } else {
            builder.add(&name, findable, address, self.reverse);
        }
    }
}

/// Parses an IP address. An IPv6 zone is ignored; an IPv4-mapped address becomes IPv4.
fn address(field: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(field).ok()?;
    let text = text.split_once('%').map_or(text, |(address, _)| address);
    text.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect()
}

/// Whether the name is escaped as names in queries are. CoreDNS compares text, so a name with other escapes is never
/// found.
fn is_canonical(text: &str, name: &NameBuf) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'*');
    if text.bytes().all(is_plain) {
        return true;
    }
    let canonical = name.to_string();
    canonical == text || canonical.strip_suffix('.') == Some(text)
}
