//! `rhumb example`: a Corefile and a small cluster inside the binary, so that there is something to ask within a
//! second.

use std::io;
use std::net::{Ipv6Addr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::args::ExampleArgs;
use super::{complain, print};
use crate::input::Corefile;
use crate::run::{Serve, serve};

const COREFILE: &str = include_str!("../../../../examples/shop/Corefile");

/// Where the Corefile finds the cluster in the source tree.
const CLUSTER: &str = "examples/shop/cluster";

const MANIFESTS: [(&str, &str); 4] = [
    ("cart.yaml", include_str!("../../../../examples/shop/cluster/cart.yaml")),
    ("namespaces.yaml", include_str!("../../../../examples/shop/cluster/namespaces.yaml")),
    ("payments.yaml", include_str!("../../../../examples/shop/cluster/payments.yaml")),
    ("web.yaml", include_str!("../../../../examples/shop/cluster/web.yaml")),
];

/// The ports in the file: DNS, health, readiness.
const PORTS: [u16; 3] = [1053, 1054, 1055];

pub fn main(args: &ExampleArgs) -> ExitCode {
    let ports = match ports(args.port) {
        Ok(ports) => ports,
        Err(error) => return complain(&format!("no free port: {error}")),
    };
    let corefile = adapted(ports, has_ipv6());
    if args.print {
        return print(corefile.as_bytes());
    }
    for port in ports {
        if let Err(error) = probe(port) {
            let advice = "`rhumb example --port 0` takes ports that are free, `--port N` those from N on.";
            return complain(&format!("127.0.0.1:{port}: {error}\n{advice}"));
        }
    }
    let cluster = match Unpacked::new() {
        Ok(cluster) => cluster,
        Err(error) => return complain(&format!("cannot unpack the example's manifests: {error}")),
    };
    let corefile = corefile.replace(CLUSTER, &cluster.0.display().to_string());
    let folder = cluster.0.clone();
    serve(Serve {
        quiet: true,
        ready: Box::new(move |_| {
            print(invitation(ports, &folder).as_bytes());
        }),
        ..Serve::new(Corefile::built_in("examples/shop/Corefile", corefile))
    })
}

/// The manifests in a folder of their own, which goes with this value.
struct Unpacked(PathBuf);

impl Unpacked {
    fn new() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("rhumb-example-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let unpacked = Self(folder);
        for (name, text) in MANIFESTS {
            std::fs::write(unpacked.0.join(name), text)?;
        }
        Ok(unpacked)
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // The system clears its folder for temporary files, should this fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The wanted port and the two after it, which the command line makes sure of; for 0 whatever is free.
fn ports(wanted: u16) -> io::Result<[u16; 3]> {
    if wanted != 0 {
        return Ok([wanted, wanted + 1, wanted + 2]);
    }
    // Held until all are found, so that they differ.
    let mut held = Vec::new();
    let mut ports = [0; 3];
    for port in &mut ports {
        let free = free_for_both()?;
        *port = free.0.local_addr()?.port();
        held.push(free);
    }
    Ok(ports)
}

/// A port that nobody has, neither with TCP nor with UDP.
fn free_for_both() -> io::Result<(TcpListener, UdpSocket)> {
    const TRIES: usize = 100;
    let mut tried = Err(io::Error::from(io::ErrorKind::AddrInUse));
    for _ in 0..TRIES {
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        tried = UdpSocket::bind(tcp.local_addr()?).map(|udp| (tcp, udp));
        if tried.is_ok() {
            break;
        }
    }
    tried
}

/// Whether the port is free. The server itself would not notice another one: servers share ports (SO_REUSEPORT).
fn probe(port: u16) -> io::Result<()> {
    UdpSocket::bind(("127.0.0.1", port))?;
    TcpListener::bind(("127.0.0.1", port))?;
    Ok(())
}

fn has_ipv6() -> bool {
    UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

/// The file with other ports, and without `::1` where there is none, as in many containers.
fn adapted(ports: [u16; 3], ipv6: bool) -> String {
    let mut text = COREFILE.to_owned();
    // By way of names, so that a new port is not mistaken for an old one.
    for (at, old) in PORTS.iter().enumerate() {
        text = text.replace(&format!(":{old}"), &format!(":PORT{at}"));
    }
    for (at, new) in ports.iter().enumerate() {
        text = text.replace(&format!(":PORT{at}"), &format!(":{new}"));
    }
    if ipv6 { text } else { text.replace("bind 127.0.0.1 ::1", "bind 127.0.0.1") }
}

fn invitation([dns, health, ready]: [u16; 3], cluster: &Path) -> String {
    let cluster = cluster.display();
    format!(
        "\
The example shop is open. In another terminal, try:

  dig @127.0.0.1 -p {dns} web.shop.svc.cluster.local
  dig @127.0.0.1 -p {dns} _redis._tcp.cart.shop.svc.cluster.local SRV
  dig @127.0.0.1 -p {dns} checkout.shop.svc.cluster.local AAAA
  dig @127.0.0.1 -p {dns} -x 10.244.1.20
  dig @127.0.0.1 -p {dns} +tcp web.shop.example
  dig @127.0.0.1 -p {dns} CH TXT version.bind
  curl http://127.0.0.1:{health}/health http://127.0.0.1:{ready}/ready

The cluster is a folder of manifests, {cluster}: edit them, and ask again.
`rhumb example --print` shows its Corefile. Ctrl-C closes the shop. Each query is logged here:

"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_is_replaced() {
        let text = adapted([1054, 1055, 1056], false);
        for gone in ["1053", "bind 127.0.0.1 ", "PORT"] {
            assert!(
                !text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(gone)),
                "{gone}"
            );
        }
        for there in [".:1054", "127.0.0.1:1055", "127.0.0.1:1056"] {
            assert!(text.contains(there), "{there}");
        }
        assert_eq!(adapted(PORTS, true), COREFILE);
    }
}
