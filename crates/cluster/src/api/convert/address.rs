//! Addresses and how they are spelt.

use std::fmt::{self, Write};
use std::net::IpAddr;

/// As Go reads it: an IPv4 address in the clothes of an IPv6 one is an IPv4 address.
pub(super) fn ip(text: &str) -> Option<IpAddr> {
    text.parse().ok().map(|address: IpAddr| address.to_canonical())
}

/// Whether `text` is the usual way to write the address. Slices have many addresses, so nothing is allocated.
pub(super) fn is_usual(address: IpAddr, text: &str) -> bool {
    // There is one way to write an IPv4 address, unless it is written as an IPv6 one.
    if address.is_ipv4() {
        return !text.contains(':');
    }
    let mut rest = Rest(text);
    write!(rest, "{address}").is_ok() && rest.0.is_empty()
}

/// Takes what is written off the front of a text.
struct Rest<'t>(&'t str);

impl Write for Rest<'_> {
    fn write_str(&mut self, written: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(written).ok_or(fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        let check = |text: &str, address: &str, usual: bool| {
            let read = ip(text).unwrap_or_else(|| panic!("{text} is an address"));
            assert_eq!((read.to_string(), is_usual(read, text)), (address.to_owned(), usual), "{text}");
        };
        check("10.0.0.1", "10.0.0.1", true);
        check("fd00::1", "fd00::1", true);
        check("FD00::1", "fd00::1", false);
        check("fd00:0:0:0:0:0:0:1", "fd00::1", false);
        check("::ffff:10.0.0.1", "10.0.0.1", false);
        for text in ["", "None", "10.0.0.01", "10.0.0", "fe80::1%eth0", "web.example.com"] {
            assert_eq!(ip(text), None, "{text}");
        }
    }
}
