//! Keys of server blocks, `[scheme://]ZONE[:PORT]`, and the zones they expand to.

use std::fmt;

use crate::block::ServerBlock;
use crate::diagnostic::Diagnostic;
use crate::domain;
use crate::reverse::{self, Prefix};
use crate::span::Span;

/// The transport of a server block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    Dns,
    Tls,
    Quic,
    Grpc,
    Https,
    Https3,
    /// Accepted in a key, but CoreDNS does not listen for it.
    Unix,
}

impl Scheme {
    pub const ALL: [Scheme; 7] =
        [Scheme::Dns, Scheme::Tls, Scheme::Quic, Scheme::Grpc, Scheme::Https, Scheme::Https3, Scheme::Unix];

    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Dns => "dns",
            Scheme::Tls => "tls",
            Scheme::Quic => "quic",
            Scheme::Grpc => "grpc",
            Scheme::Https => "https",
            Scheme::Https3 => "https3",
            Scheme::Unix => "unix",
        }
    }

    /// Port of a key without one. For plain DNS it is that of the command line.
    pub fn default_port(self, dns_port: &str) -> &str {
        match self {
            Scheme::Dns => dns_port,
            Scheme::Tls | Scheme::Quic => "853",
            Scheme::Grpc | Scheme::Https | Scheme::Https3 => "443",
            Scheme::Unix => "",
        }
    }

    /// Splits the scheme off `text`. Without a scheme or with an unknown one, all of `text` is a plain DNS key.
    pub fn split(text: &str) -> (Scheme, &str) {
        let found = Scheme::ALL.into_iter().find_map(|scheme| {
            let rest = text.strip_prefix(scheme.as_str())?.strip_prefix("://")?;
            Some((scheme, rest))
        });
        found.unwrap_or((Scheme::Dns, text))
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One zone to serve. Displays as `dns://example.org.:53`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneKey {
    pub scheme: Scheme,
    /// Absolute and in lower case.
    pub zone: String,
    /// An integer, but not always a port: `:70000` and `:-1` are accepted here and fail when listening.
    pub port: String,
    pub span: Span,
}

impl ZoneKey {
    pub fn port_number(&self) -> Result<u16, Diagnostic> {
        let invalid = |_| Diagnostic::error(format!("address {}: invalid port", self.port)).at(&self.span);
        self.port.parse().map_err(invalid)
    }
}

impl fmt::Display for ZoneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme, self.zone, self.port)
    }
}

/// The zones of all keys of a block, in order, with CIDR keys expanded.
pub fn block_zones(block: &ServerBlock, dns_port: &str) -> Result<Vec<ZoneKey>, Diagnostic> {
    let mut zones = Vec::new();
    for key in &block.keys {
        zones.extend(expand(&key.text, &key.span, dns_port)?);
    }
    Ok(zones)
}

/// The zones of one key: more than one for a prefix that ends within a label.
pub fn expand(key: &str, span: &Span, dns_port: &str) -> Result<Vec<ZoneKey>, Diagnostic> {
    let invalid = |message: String| Diagnostic::inspecting(message).at(span);
    let (scheme, rest) = Scheme::split(key);
    let (hosts, port) = split_host_port(rest).map_err(invalid)?;
    for host in &hosts {
        // Checked again with the trailing dot, which may make the name too long.
        split_host_port(&domain::absolute(host)).map_err(invalid)?;
    }
    let port = port.unwrap_or_else(|| scheme.default_port(dns_port).to_string());
    let zone_key = |host: &String| ZoneKey {
        scheme,
        zone: domain::normalize(host),
        port: port.clone(),
        span: span.clone(),
    };
    Ok(hosts.iter().map(zone_key).collect())
}

/// The zones of `name`, without scheme and port. Empty if `name` is invalid: CoreDNS ignores invalid zones wherever it
/// uses this.
pub fn normalize_exact(name: &str) -> Vec<String> {
    let (_, rest) = Scheme::split(name);
    match split_host_port(rest) {
        Ok((hosts, _)) => hosts.iter().map(|host| domain::normalize(host)).collect(),
        Err(_) => Vec::new(),
    }
}

/// The zones of a plugin: those of its arguments, or else the block's.
pub fn zones_from_args_or_block<S: AsRef<str>>(args: &[S], block: &[ZoneKey]) -> Vec<String> {
    if args.is_empty() {
        return block.iter().map(|key| key.zone.clone()).collect();
    }
    args.iter().flat_map(|arg| normalize_exact(arg.as_ref())).collect()
}

/// Splits off a port and expands a prefix. An address without a mask is an ordinary name, and the last group of an IPv6
/// address may be read as a port.
fn split_host_port(text: &str) -> Result<(Vec<String>, Option<String>), String> {
    let colon = text.rfind(':');
    if text.is_empty() || colon == Some(text.len() - 1) {
        return Err(format!("expecting data after last colon: {}", golang::quoted(text)));
    }
    let port = colon.and_then(|at| whole_number(&text[at + 1..]));
    let host = if port.is_some() { &text[..colon.unwrap_or_default()] } else { text };
    if host.len() > 255 {
        return Err(format!("specified zone is too long: {} > 255", host.len()));
    }
    if !domain::is_domain_name(host) {
        return Err(format!("zone is not a valid domain name: {host}"));
    }
    let Some(prefix) = Prefix::parse(host) else {
        return Ok((vec![host.to_string()], port));
    };
    if host.starts_with(':') || (host.starts_with('0') && host.contains(':')) {
        return Err(format!("invalid CIDR {host}"));
    }
    Ok((reverse::zones(prefix), port))
}

/// An integer that Go's `Atoi` accepts, without its plus sign and leading zeros.
fn whole_number(text: &str) -> Option<String> {
    text.parse::<i64>().ok().map(|number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::SourceFile;

    fn span() -> Span {
        Span { file: SourceFile::main("Corefile", b""), start: 0, end: 0, line: 1, column: 1 }
    }

    fn check(key: &str, expected: &[&str]) {
        let found = expand(key, &span(), "53").unwrap();
        let found: Vec<_> = found.iter().map(ZoneKey::to_string).collect();
        assert_eq!(found, expected, "{key}");
    }

    fn check_error(key: &str, expected: &str) {
        let error = expand(key, &span(), "53").unwrap_err();
        assert_eq!(error.to_string(), format!("error inspecting server blocks: {expected}"), "{key}");
    }

    #[test]
    fn names_schemes_and_ports() {
        check(".", &["dns://.:53"]);
        check("Example.ORG", &["dns://example.org.:53"]);
        check("example.org.:1053", &["dns://example.org.:1053"]);
        check("dns://.:0053", &["dns://.:53"]);
        check("tls://example.org", &["tls://example.org.:853"]);
        check("quic://example.org", &["quic://example.org.:853"]);
        check("grpc://example.org", &["grpc://example.org.:443"]);
        check("https://example.org:8443", &["https://example.org.:8443"]);
        check("https3://example.org", &["https3://example.org.:443"]);
    }

    #[test]
    fn odd_keys_that_coredns_accepts() {
        check("ftp://example.org", &["dns://ftp://example.org.:53"]);
        check("TLS://example.org", &["dns://tls://example.org.:53"]);
        check("example.org:domain", &["dns://example.org:domain.:53"]);
        check("example.org:-1", &["dns://example.org.:-1"]);
        check("example.org:+53", &["dns://example.org.:53"]);
        check("2001:db8::1", &["dns://2001:db8:.:1"]);
        check("unix://x", &["unix://x.:"]);
        check("}", &["dns://}.:53"]);
    }

    #[test]
    fn prefixes() {
        check("10.0.0.0/24", &["dns://0.0.10.in-addr.arpa.:53"]);
        check("tls://10.0.0.0/23:99", &["tls://0.0.10.in-addr.arpa.:99", "tls://1.0.10.in-addr.arpa.:99"]);
        check("2001:db8::/32", &["dns://8.b.d.0.1.0.0.2.ip6.arpa.:53"]);
        check("2001:db8::/32:54", &["dns://8.b.d.0.1.0.0.2.ip6.arpa.:54"]);
        // With a trailing dot it is a name.
        check("10.0.0.0/24.", &["dns://10.0.0.0/24.:53"]);
        check("10.0.0.0", &["dns://10.0.0.0.:53"]);
    }

    #[test]
    fn errors() {
        check_error("", "expecting data after last colon: \"\"");
        check_error("dns://", "expecting data after last colon: \"\"");
        check_error("example.org:", "expecting data after last colon: \"example.org:\"");
        check_error(":53", "zone is not a valid domain name: ");
        check_error("a..b", "zone is not a valid domain name: a..b");
        check_error("::/8", "invalid CIDR ::/8");
        check_error("0::1/8", "invalid CIDR 0::1/8");
        check_error(&"a".repeat(256), "specified zone is too long: 256 > 255");
        let label = "a".repeat(63);
        check_error(
            &format!("{label}.{label}.{label}.{}:53", "a".repeat(63)),
            // Fits without its last dot, but not with it: CoreDNS checks twice.
            "specified zone is too long: 256 > 255",
        );
    }

    #[test]
    fn ports() {
        let key = |text: &str| expand(text, &span(), "53").unwrap().remove(0);
        assert_eq!(key("a:70").port_number(), Ok(70));
        assert_eq!(key("a:70000").port_number().unwrap_err().to_string(), "address 70000: invalid port");
    }

    #[test]
    fn zones_of_plugins() {
        let block = expand("tls://10.0.0.0/23", &span(), "53").unwrap();
        let none: [&str; 0] = [];
        assert_eq!(zones_from_args_or_block(&none, &block), ["0.0.10.in-addr.arpa.", "1.0.10.in-addr.arpa."]);
        let args = ["Example.ORG:99", "a..b", "10.0.0.0/23", "dns://x"];
        let expected = ["example.org.", "0.0.10.in-addr.arpa.", "1.0.10.in-addr.arpa.", "x."];
        assert_eq!(zones_from_args_or_block(&args, &block), expected);
        assert_eq!(normalize_exact("a..b"), none);
    }
}
