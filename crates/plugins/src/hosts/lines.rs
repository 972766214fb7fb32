//! Lines of a hosts file: an address, then names for it, then perhaps a comment.
//!
//! Nothing in a hosts file is an error: what is not an address makes its line a comment, what is not a name is
//! passed over.

use std::io::{self, BufRead, Read};
use std::net::IpAddr;

use server::log;
use wire::NameBuf;

use super::table::{Builder, Table};
use crate::parse::is_under_any;

/// A longer field cannot be an address or a name.
const LONGEST_FIELD: usize = 1024;
/// A longer line is no hosts file's, and would be held in memory.
const LONGEST_LINE: u64 = 1 << 20;

/// What to make of the lines.
pub(super) struct Lines {
    /// Names outside of these are passed over.
    pub zones: Vec<NameBuf>,
    /// Whether addresses lead back to their names.
    pub reverse: bool,
}

impl Lines {
    /// Reads a whole file. `source` is how the log names it.
    pub fn read(&self, mut input: impl BufRead, source: &str, log: log::Logger) -> io::Result<Table> {
        let mut builder = Builder::default();
        let (mut line, mut number) = (Vec::new(), 0);
        while Read::take(&mut input, LONGEST_LINE).read_until(b'\n', &mut line)? > 0 {
            number += 1;
            if line.len() as u64 == LONGEST_LINE {
                let text = format!("line {number} is longer than {LONGEST_LINE} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            self.read_line(&line, &mut builder, |what| {
                log.error(format_args!("{source}, line {number}: {what}"));
            });
            line.clear();
        }
        Ok(builder.finish())
    }

    fn read_line(&self, line: &[u8], builder: &mut Builder, complain: impl Fn(&str)) {
        let text = line.split(|&byte| byte == b'#').next().unwrap_or_default();
        let mut fields =
            text.split(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).filter(|field| !field.is_empty());
        let Some(first) = fields.next() else { return };
        if first.len() > LONGEST_FIELD {
            return complain("address longer than 1024 bytes, dropping the line");
        }
        let Some(address) = address(first) else { return };
        for field in fields {
            if field.len() > LONGEST_FIELD {
                complain("name longer than 1024 bytes, dropping the name");
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

/// An IP address; an IPv6 zone behind it is ignored, and IPv4 in IPv6 form is IPv4.
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

/// Whether the name is spelt as names in queries are. CoreDNS compares text, so a name with an escape too many, or
/// one too few, is found by nobody.
fn is_canonical(text: &str, name: &NameBuf) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'*');
    if text.bytes().all(is_plain) {
        return true;
    }
    let canonical = name.to_string();
    canonical == text || canonical.strip_suffix('.') == Some(text)
}
