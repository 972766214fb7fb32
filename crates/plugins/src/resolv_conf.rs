//! Files in the form of `resolv.conf`: name servers and the search path.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::str::SplitWhitespace;

use wire::NameBuf;

/// What stands behind `nameserver`, in order.
pub(crate) fn name_servers(contents: &[u8]) -> Vec<String> {
    let mut servers = Vec::new();
    each_line(contents, |option, mut values| {
        if option == "nameserver" {
            servers.extend(values.next().map(str::to_owned));
        }
    });
    servers
}

/// The domains of the last `search` or `domain`, in lower case. What is no name is passed over.
pub(crate) fn search_path(path: &Path) -> io::Result<Vec<NameBuf>> {
    let contents = match files::read(path, files::DEFAULT_LIMIT) {
        // Nothing can be read from a folder, which to CoreDNS is a file with nothing in it.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Vec::new(),
        read => read?,
    };
    let mut domains = Vec::new();
    each_line(&contents, |option, values| {
        let most = match option {
            "search" => usize::MAX,
            "domain" => 1,
            _ => return,
        };
        let named = values.take(most).filter_map(|value| NameBuf::parse(&value.to_ascii_lowercase()).ok());
        domains = named.collect();
    });
    Ok(domains)
}

/// The first word and the others of each line.
fn each_line(contents: &[u8], mut take: impl FnMut(&str, SplitWhitespace<'_>)) {
    for line in String::from_utf8_lossy(contents).split('\n') {
        let mut words = line.split_whitespace();
        if let Some(option) = words.next() {
            take(option, words);
        }
    }
}

/// The address of a name server; the scope of a link-local one is not looked at.
pub(crate) fn address(server: &str) -> Option<IpAddr> {
    let address = server.rsplit_once('%').map_or(server, |(address, _)| address);
    address.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}
