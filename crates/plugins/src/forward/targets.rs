//! The upstreams of one `forward` line. Queries load a snapshot; a changed file replaces it.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use upstream::{Network, Options, Scheme, Upstream};

use super::LOG;
use super::destination::{Address, Destination};
use super::pools::Pools;
use super::streak::ServfailStreak;

pub(super) struct Targets {
    list: ArcSwap<Vec<Arc<Target>>>,
    /// The sources of the list. Locked only to read files again.
    sources: Mutex<Vec<Destination>>,
    template: Template,
    pools: Arc<Pools>,
}

/// One upstream, shared by the lists it is in.
pub(super) struct Target {
    pub addr: SocketAddr,
    pub upstream: Arc<Upstream>,
    pub streak: ServfailStreak,
    endpoint: Endpoint,
}

impl Target {
    /// The transport of a query over this network, for `explain`.
    pub fn transport(&self, network: Network) -> &'static str {
        match (self.endpoint.scheme, network) {
            (Scheme::Dns, Network::Udp) => "udp",
            (Scheme::Dns, Network::Tcp) => "tcp",
            (Scheme::Tls, _) => "tls",
            (Scheme::Https, _) => "https",
        }
    }
}

/// Identifies an upstream among those with the same settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Endpoint {
    scheme: Scheme,
    addr: SocketAddr,
    server_name: Option<String>,
}

/// Settings shared by all upstreams of a line.
pub(super) struct Template {
    pub options: Options,
    /// The TLS server name of all upstreams.
    pub tls_servername: Option<String>,
    pub force_tcp: bool,
}

impl Template {
    fn target(&self, endpoint: Endpoint) -> Target {
        let upstream = Upstream::new(self.options_of(&endpoint));
        Target { addr: endpoint.addr, upstream, streak: ServfailStreak::default(), endpoint }
    }

    fn options_of(&self, endpoint: &Endpoint) -> Options {
        let mut options = self.options.clone();
        options.scheme = endpoint.scheme;
        options.addr = endpoint.addr;
        options.server_name = endpoint.server_name.clone();
        // TLS is TCP anyway.
        options.health.tcp = self.force_tcp && endpoint.scheme != Scheme::Tls;
        options
    }

    /// Validates an address, with CoreDNS's errors, except for ports and schemes that CoreDNS accepts but cannot use.
    fn endpoint(&self, address: &Address) -> Result<Endpoint, String> {
        use corefile::Scheme as Configured;
        let scheme = match address.scheme {
            Configured::Dns => Scheme::Dns,
            Configured::Tls => Scheme::Tls,
            Configured::Https => Scheme::Https,
            Configured::Quic => {
                return Err(format!("quic:// upstreams are still to come in Rhumb: {address}"));
            }
            other => {
                return Err(format!(
                    "'{other}' is not supported as a destination protocol in forward: {address}"
                ));
            }
        };
        let ip: Result<IpAddr, _> = address.host.parse();
        let (Ok(ip), Ok(port)) = (ip, address.port.parse()) else {
            return Err(format!("'{}' is not a port: {address}", address.port));
        };
        let own = Some(address.server_name.as_str()).filter(|name| !name.is_empty() && scheme == Scheme::Tls);
        if let (Some(own), Some(all)) = (own, &self.tls_servername) {
            return Err(format!(
                "both forward ('{all}') and proxy level ('{own}') TLS servernames are set for upstream proxy '{address}'"
            ));
        }
        let common = self.tls_servername.as_deref().filter(|_| scheme != Scheme::Dns);
        let server_name = own.or(common).map(str::to_owned);
        Ok(Endpoint { scheme, addr: SocketAddr::new(ip.to_canonical(), port), server_name })
    }
}

impl Targets {
    /// Host names in `sources` must be resolved already.
    pub fn new(sources: Vec<Destination>, template: Template, pools: Arc<Pools>) -> Result<Targets, String> {
        let list = assemble(&sources, &template, &pools)?;
        if list.is_empty() {
            return Err("no valid upstream addresses found".into());
        }
        Ok(Targets { list: ArcSwap::from_pointee(list), sources: Mutex::new(sources), template, pools })
    }

    pub fn list(&self) -> Arc<Vec<Arc<Target>>> {
        self.list.load_full()
    }

    /// An upstream at the address of a target that shares nothing with it and is not counted.
    pub fn apart(&self, target: &Target) -> Arc<Upstream> {
        Upstream::new(Options { proxy_name: "", ..self.template.options_of(&target.endpoint) })
    }

    pub fn has_files(&self) -> bool {
        self.sources().iter().any(|source| matches!(source, Destination::File(..)))
    }

    /// Reads the files again. If one is missing or lists no name server, its last addresses stay.
    pub fn refresh(&self) {
        let mut sources = self.sources();
        let mut changed = false;
        for source in sources.iter_mut() {
            let Destination::File(file) = source else { continue };
            if file.refresh() {
                let now: Vec<&str> = file.addresses.iter().map(|address| address.host.as_str()).collect();
                LOG.info(format_args!(
                    "{}: name servers changed to {}",
                    file.path().display(),
                    now.join(", ")
                ));
                changed = true;
            }
        }
        if !changed {
            return;
        }
        // Addresses from files are for plain DNS and always valid.
        let Ok(list) = assemble(&sources, &self.template, &self.pools) else { return };
        self.list.store(Arc::new(list));
    }

    fn sources(&self) -> std::sync::MutexGuard<'_, Vec<Destination>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The upstreams in the order of the Corefile, without duplicates. Existing ones keep their sockets and health.
fn assemble(sources: &[Destination], template: &Template, pools: &Pools) -> Result<Vec<Arc<Target>>, String> {
    let mut list: Vec<Arc<Target>> = Vec::new();
    for source in sources {
        let addresses = match source {
            Destination::Addresses(addresses) => addresses,
            Destination::File(file) => &file.addresses,
            Destination::Host(_) => continue,
        };
        for address in addresses {
            let endpoint = template.endpoint(address)?;
            if !list.iter().any(|target| target.endpoint == endpoint) {
                list.push(pools.get(endpoint, |endpoint| template.target(endpoint)));
            }
        }
    }
    Ok(list)
}
