//! Go's `net.LookupPort`, for addresses to listen on.

/// Services that Go resolves without /etc/services.
const SERVICES: [(&str, u16); 14] = [
    ("ftp", 21),
    ("ftps", 990),
    ("gopher", 70),
    ("http", 80),
    ("https", 443),
    ("imap2", 143),
    ("imap3", 220),
    ("imaps", 993),
    ("pop3", 110),
    ("pop3s", 995),
    ("smtp", 25),
    ("submissions", 465),
    ("ssh", 22),
    ("telnet", 23),
];

/// Parses a number, with or without a sign, or the name of a TCP service. Empty text is 0, any free port.
pub fn lookup_port(text: &str) -> Result<u16, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.bytes().all(|octet| octet.is_ascii_digit()) {
        let number = if digits.is_empty() { Some(0) } else { digits.parse().ok() };
        let number = number.filter(|number| *number == 0 || !text.starts_with('-'));
        return number.ok_or_else(|| format!("address {text}: invalid port"));
    }
    let name = text.to_ascii_lowercase();
    let known = SERVICES.iter().find(|(service, _)| *service == name).map(|(_, port)| *port);
    let in_file = || port_in_services(&std::fs::read_to_string("/etc/services").unwrap_or_default(), &name);
    known.or_else(in_file).ok_or_else(|| format!("lookup tcp/{text}: unknown port"))
}

/// Finds the port in lines `NAME PORT/tcp [ALIAS]... [# COMMENT]`.
fn port_in_services(services: &str, name: &str) -> Option<u16> {
    services.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let (service, port) = (words.next()?, words.next()?);
        let matches = service == name || words.any(|alias| alias == name);
        port.strip_suffix("/tcp").filter(|_| matches)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ports that Go's `net.Listen` accepts, and its errors.
    #[test]
    fn ports() {
        for (text, port) in [
            ("", Ok(0)),
            ("0", Ok(0)),
            ("-0", Ok(0)),
            ("+", Ok(0)),
            ("+9", Ok(9)),
            ("65535", Ok(65535)),
            ("http", Ok(80)),
            ("HTTP", Ok(80)),
            ("65536", Err("address 65536: invalid port")),
            ("-1", Err("address -1: invalid port")),
            ("no-such-port", Err("lookup tcp/no-such-port: unknown port")),
            ("0x10", Err("lookup tcp/0x10: unknown port")),
        ] {
            assert_eq!(lookup_port(text), port.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn services_file() {
        let services = "# comment\ndomain 53/udp\ndomain\t\t53/tcp\nwww 80/tcp http web # alias\nbad x/tcp\n";
        for (name, port) in
            [("domain", Some(53)), ("web", Some(80)), ("alias", None), ("bad", None), ("other", None)]
        {
            assert_eq!(port_in_services(services, name), port, "{name}");
        }
    }
}
