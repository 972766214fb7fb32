//! Files in the form of `resolv.conf`: name servers and the search path.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::IpAddr;
use std::path::Path;
use std::str::SplitWhitespace;

use wire::NameBuf;

/// What stands behind `nameserver`, in order.
pub(crate) fn name_servers(path: &Path) -> io::Result<Vec<String>> {
    let mut servers = Vec::new();
    each_line(path, |option, mut values| {
        if option == "nameserver" {
            servers.extend(values.next().map(str::to_owned));
        }
    })?;
    Ok(servers)
}

/// The domains of the last `search` or `domain`, in lower case. What is no name is passed over.
pub(crate) fn search_path(path: &Path) -> io::Result<Vec<NameBuf>> {
    let mut domains = Vec::new();
    each_line(path, |option, values| {
        let most = match option {
            "search" => usize::MAX,
            "domain" => 1,
            _ => return,
        };
        let named = values.take(most).filter_map(|value| NameBuf::parse(&value.to_ascii_lowercase()).ok());
        domains = named.collect();
    })?;
    Ok(domains)
}

/// The first word and the others of each line. A file that stops being readable in the middle (a folder, say)
/// ends there.
fn each_line(path: &Path, mut take: impl FnMut(&str, SplitWhitespace<'_>)) -> io::Result<()> {
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        let Ok(line) = line else { break };
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split_whitespace();
        if let Some(option) = words.next() {
            take(option, words);
        }
    }
    Ok(())
}

/// The address of a name server; the scope of a link-local one is not looked at.
pub(crate) fn address(server: &str) -> Option<IpAddr> {
    let address = server.rsplit_once('%').map_or(server, |(address, _)| address);
    address.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}
