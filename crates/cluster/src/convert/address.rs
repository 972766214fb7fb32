//! IP addresses in text form.

use std::fmt::{self, Write};
use std::net::IpAddr;

/// As Go parses it: an IPv4-mapped IPv6 address is an IPv4 address.
pub(super) fn ip(text: &str) -> Option<IpAddr> {
    text.parse().ok().map(|address: IpAddr| address.to_canonical())
}

/// Whether `text` is the canonical form of the address. Allocates nothing, since slices have many addresses.
pub(super) fn is_canonical(address: IpAddr, text: &str) -> bool {
    // An IPv4 address has one text form, except as an IPv4-mapped IPv6 address.
    if address.is_ipv4() {
        return !text.contains(':');
    }
    let mut matcher = PrefixMatcher(text);
    write!(matcher, "{address}").is_ok() && matcher.0.is_empty()
}

/// Strips written text from the front of the remaining text.
struct PrefixMatcher<'t>(&'t str);

impl Write for PrefixMatcher<'_> {
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
            assert_eq!((read.to_string(), is_canonical(read, text)), (address.to_owned(), usual), "{text}");
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
