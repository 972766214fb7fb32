//! The name servers outside the cluster in the document, each replaced by a CoreDNS on loopback.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use testkit::{DnsServer, Kind, ports};

/// Its name in the document, its Corefile, and its zone file.
struct Role {
    name: &'static str,
    corefile: &'static str,
    zone: &'static str,
}

const ROLES: &[Role] = &[
    Role { name: "/etc/resolv.conf", corefile: FILE, zone: INTERNET },
    Role { name: "10.1.0.53", corefile: FILE, zone: COMPANY },
    Role { name: "10.1.0.54", corefile: FILE, zone: COMPANY },
    Role { name: "10.96.0.11", corefile: CENTRAL, zone: "" },
];

const FILE: &str = ".:{port} {
    bind 127.0.0.1
    file zone .
}
";

/// The deployment that watches the pods.
const CENTRAL: &str = ".:{port} {
    bind 127.0.0.1
    kubernetes cluster.local {
        kubeconfig {kubeconfig}
        pods verified
        ttl 30
    }
}
";

/// The zone data of the internet.
const INTERNET: &str = "\
. 60 IN SOA a.root.example. hostmaster.root.example. 1 1800 900 604800 60
. 60 IN NS a.root.example.
www.example.org. 300 IN A 203.0.113.80
www.example.org. 300 IN AAAA 2001:db8::80
api.example.org. 5 IN A 203.0.113.81
www.example.net. 300 IN A 198.51.100.80
www.example.net. 300 IN AAAA 2001:db8:1::80
80.113.0.203.in-addr.arpa. 300 IN PTR www.example.org.
shop.example.org. 300 IN A 203.0.113.10
";

/// The zone data of the company's name servers.
const COMPANY: &str = "\
. 60 IN SOA ns.corp.example. hostmaster.corp.example. 1 1800 900 604800 60
. 60 IN NS ns.corp.example.
git.corp.example. 300 IN A 10.1.0.10
git.corp.example. 300 IN AAAA 2001:db8:2::10
billing.corp.example. 300 IN A 10.1.0.20
10.0.1.10.in-addr.arpa. 300 IN PTR git.corp.example.
";

pub struct Upstreams {
    /// Fixed, so that a restarted upstream keeps its port.
    ports: BTreeMap<&'static str, u16>,
    running: BTreeMap<&'static str, DnsServer>,
}

impl Upstreams {
    pub fn start(kubeconfig: &Path) -> Result<Self, String> {
        let ports = ROLES.iter().map(|role| Ok((role.name, ports::free()?)));
        let ports = ports.collect::<testkit::Result<_>>().map_err(|error| error.to_string())?;
        let mut upstreams = Self { ports, running: BTreeMap::new() };
        upstreams.start_missing(kubeconfig)?;
        Ok(upstreams)
    }

    pub fn start_missing(&mut self, kubeconfig: &Path) -> Result<(), String> {
        for role in ROLES {
            if self.running.contains_key(role.name) {
                continue;
            }
            let port = self.ports[role.name];
            let corefile = role.corefile.replace("{port}", &port.to_string());
            let corefile = corefile.replace("{kubeconfig}", &kubeconfig.display().to_string());
            let server = DnsServer::start_with_files(Kind::CoreDns, &corefile, port, &[("zone", role.zone)])
                .map_err(|error| format!("{}: {error}", role.name))?;
            self.running.insert(role.name, server);
        }
        Ok(())
    }

    /// The address of the upstream with this name in the document.
    pub fn addr(&self, name: &str) -> Result<SocketAddr, String> {
        let port = self.ports.get(name).ok_or_else(|| format!("nobody plays the upstream {name}"))?;
        Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, *port)))
    }

    pub fn stop(&mut self, name: &str) -> Result<(), String> {
        let server = self.running.remove(name).ok_or_else(|| format!("there is no upstream {name}"))?;
        server.process().kill().map(drop).map_err(|error| error.to_string())
    }
}
