//! Files in the form of `resolv.conf`: name servers and the search path.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::str::SplitWhitespace;

use wire::NameBuf;

/// The values of `nameserver`, in order.
pub(crate) fn name_servers(contents: &[u8]) -> Vec<String> {
    let mut servers = Vec::new();
    each_line(contents, |option, mut values| {
        if option == "nameserver" {
            servers.extend(values.next().map(str::to_owned));
        }
    });
    servers
}

/// The domains of the last `search` or `domain`, in lower case. Invalid names are skipped.
pub(crate) fn search_path(path: &Path) -> io::Result<Vec<NameBuf>> {
    let contents = match files::read(path, files::DEFAULT_LIMIT) {
        // CoreDNS treats a folder as an empty file.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Vec::new(),
        read => read?,
    };
    let mut domains = Vec::new();
    each_line(&contents, |option, values| {
        let max = match option {
            "search" => usize::MAX,
            "domain" => 1,
            _ => return,
        };
        let named = values.take(max).filter_map(|value| NameBuf::parse(&value.to_ascii_lowercase()).ok());
        domains = named.collect();
    });
    Ok(domains)
}

/// Calls `take` with the first word and the other words of each line.
fn each_line(contents: &[u8], mut take: impl FnMut(&str, SplitWhitespace<'_>)) {
    for line in String::from_utf8_lossy(contents).split('\n') {
        let mut words = line.split_whitespace();
        if let Some(option) = words.next() {
            take(option, words);
        }
    }
}

/// The address of a name server; the scope of a link-local address is ignored.
pub(crate) fn address(server: &str) -> Option<IpAddr> {
    let address = server.rsplit_once('%').map_or(server, |(address, _)| address);
    address.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}
