//! `rhumb example`: serves a Corefile and the manifests of a small cluster that are embedded in the binary.

use std::io;
use std::net::{Ipv6Addr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{print, print_error};
use crate::input::Corefile;
use crate::run::{Serve, serve};

const COREFILE: &str = include_str!("../../../../examples/shop/Corefile");

/// The folder of manifests that the Corefile names.
const CLUSTER: &str = "examples/shop/cluster";

const MANIFESTS: [(&str, &str); 4] = [
    ("cart.yaml", include_str!("../../../../examples/shop/cluster/cart.yaml")),
    ("namespaces.yaml", include_str!("../../../../examples/shop/cluster/namespaces.yaml")),
    ("payments.yaml", include_str!("../../../../examples/shop/cluster/payments.yaml")),
    ("web.yaml", include_str!("../../../../examples/shop/cluster/web.yaml")),
];

/// The ports in the Corefile: DNS, health, readiness.
const PORTS: [u16; 3] = [1053, 1054, 1055];

/// Serve a built-in example and print queries to try
///
/// Needs no file and no privileges. The Corefile is examples/shop/Corefile of the source tree.
#[derive(clap::Args)]
pub struct Args {
    /// DNS port; the next two are for health and readiness. 0 picks free ports
    #[arg(long, value_name = "N", default_value_t = 1053, value_parser = clap::value_parser!(u16).range(..=65533))]
    pub port: u16,
    /// Print the Corefile instead of serving it
    #[arg(long)]
    pub print: bool,
}

pub fn main(args: Args) -> ExitCode {
    let ports = match ports(args.port) {
        Ok(ports) => ports,
        Err(error) => return print_error(&format!("no free port: {error}")),
    };
    let corefile = corefile_for(ports, has_ipv6());
    if args.print {
        return print(corefile.as_bytes());
    }
    for port in ports {
        if let Err(error) = probe(port) {
            let advice = "`rhumb example --port 0` picks free ports, `--port N` uses N to N+2.";
            return print_error(&format!("127.0.0.1:{port}: {error}\n{advice}"));
        }
    }
    let cluster = match ManifestFolder::new() {
        Ok(cluster) => cluster,
        Err(error) => return print_error(&format!("cannot unpack the example's manifests: {error}")),
    };
    let corefile = corefile.replace(CLUSTER, &cluster.0.display().to_string());
    let folder = cluster.0.clone();
    serve(Serve {
        quiet: true,
        ready: Box::new(move |_| {
            print(banner(ports, &folder).as_bytes());
        }),
        ..Serve::new(Corefile::built_in("examples/shop/Corefile", corefile))
    })
}

/// A temporary folder with the manifests, removed on drop.
struct ManifestFolder(PathBuf);

impl ManifestFolder {
    fn new() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("rhumb-example-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let folder = Self(folder);
        for (name, text) in MANIFESTS {
            std::fs::write(folder.0.join(name), text)?;
        }
        Ok(folder)
    }
}

impl Drop for ManifestFolder {
    fn drop(&mut self) {
        // If this fails, the system clears its temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Three ports from `first` on, which the command line keeps in range; three free ones for 0.
fn ports(first: u16) -> io::Result<[u16; 3]> {
    if first != 0 {
        return Ok([first, first + 1, first + 2]);
    }
    // Kept open until all are found, so that they differ.
    let mut sockets = Vec::new();
    let mut ports = [0; 3];
    for port in &mut ports {
        let free = bind_free_port()?;
        *port = free.0.local_addr()?.port();
        sockets.push(free);
    }
    Ok(ports)
}

/// Binds a port that is free for both TCP and UDP.
fn bind_free_port() -> io::Result<(TcpListener, UdpSocket)> {
    const ATTEMPTS: usize = 100;
    let mut bound = Err(io::Error::from(io::ErrorKind::AddrInUse));
    for _ in 0..ATTEMPTS {
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        bound = UdpSocket::bind(tcp.local_addr()?).map(|udp| (tcp, udp));
        if bound.is_ok() {
            break;
        }
    }
    bound
}

/// Fails if the port is in use. The server would not notice, because it binds with SO_REUSEPORT.
fn probe(port: u16) -> io::Result<()> {
    UdpSocket::bind(("127.0.0.1", port))?;
    TcpListener::bind(("127.0.0.1", port))?;
    Ok(())
}

fn has_ipv6() -> bool {
    UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

/// The Corefile with these ports, and without `::1` where there is no IPv6, as in many containers.
fn corefile_for(ports: [u16; 3], ipv6: bool) -> String {
    let mut text = COREFILE.to_owned();
    // Through placeholders, so that a new port is not replaced again as an old one.
    for (at, old) in PORTS.iter().enumerate() {
        text = text.replace(&format!(":{old}"), &format!(":PORT{at}"));
    }
    for (at, new) in ports.iter().enumerate() {
        text = text.replace(&format!(":PORT{at}"), &format!(":{new}"));
    }
    if ipv6 { text } else { text.replace("bind 127.0.0.1 ::1", "bind 127.0.0.1") }
}

fn banner([dns, health, ready]: [u16; 3], cluster: &Path) -> String {
    let cluster = cluster.display();
    format!(
        "\
The example is running. In another terminal, try:

  dig @127.0.0.1 -p {dns} web.shop.svc.cluster.local
  dig @127.0.0.1 -p {dns} _redis._tcp.cart.shop.svc.cluster.local SRV
  dig @127.0.0.1 -p {dns} checkout.shop.svc.cluster.local AAAA
  dig @127.0.0.1 -p {dns} -x 10.244.1.20
  dig @127.0.0.1 -p {dns} +tcp web.shop.example
  dig @127.0.0.1 -p {dns} CH TXT version.bind
  curl http://127.0.0.1:{health}/health http://127.0.0.1:{ready}/ready

The cluster is a folder of manifests, {cluster}: edit them and query again.
`rhumb example --print` prints the Corefile. Ctrl-C stops the server. Each query is logged here:

"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_is_replaced() {
        let text = corefile_for([1054, 1055, 1056], false);
        for gone in ["1053", "bind 127.0.0.1 ", "PORT"] {
            assert!(
                !text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(gone)),
                "{gone}"
            );
        }
        for there in [".:1054", "127.0.0.1:1055", "127.0.0.1:1056"] {
            assert!(text.contains(there), "{there}");
        }
        assert_eq!(corefile_for(PORTS, true), COREFILE);
    }
}
