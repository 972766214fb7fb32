//! The name servers of a file in the form of `resolv.conf`.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::IpAddr;
use std::path::Path;

/// What stands behind `nameserver`, in order. Whatever else the file says is not for us, and a file that stops
/// being readable in the middle (a folder, say) ends there.
pub(super) fn name_servers(path: &Path) -> io::Result<Vec<String>> {
    let mut servers = Vec::new();
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        let Ok(line) = line else { break };
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split_whitespace();
        if words.next() == Some("nameserver") {
            servers.extend(words.next().map(str::to_owned));
        }
    }
    Ok(servers)
}

/// The address of a name server; the scope of a link-local one is not looked at.
pub(super) fn address(server: &str) -> Option<IpAddr> {
    let address = server.rsplit_once('%').map_or(server, |(address, _)| address);
    address.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}
