//! The upstreams of one `forward` line. Queries take a snapshot; files are read again and swap it.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use upstream::{Network, Options, Scheme, Upstream};

use super::LOG;
use super::pools::Pools;
use super::streak::Streak;
use super::to::{Address, To};

pub(super) struct Targets {
    list: ArcSwap<Vec<Arc<Target>>>,
    /// What the list was made of. Only reading files again locks it.
    from: Mutex<Vec<To>>,
    template: Template,
    pools: Arc<Pools>,
}

/// One upstream, shared by the lists it is in.
pub(super) struct Target {
    pub addr: SocketAddr,
    pub upstream: Arc<Upstream>,
    pub streak: Streak,
    endpoint: Endpoint,
}

impl Target {
    /// What a query travels over, if it goes out by this network.
    pub fn transport(&self, network: Network) -> &'static str {
        match (self.endpoint.scheme, network) {
            (Scheme::Dns, Network::Udp) => "udp",
            (Scheme::Dns, Network::Tcp) => "tcp",
            (Scheme::Tls, _) => "tls",
            (Scheme::Https, _) => "https",
        }
    }
}

/// What tells upstreams with the same settings apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Endpoint {
    scheme: Scheme,
    addr: SocketAddr,
    server_name: Option<String>,
}

/// What all upstreams of a line have in common.
pub(super) struct Template {
    pub options: Options,
    /// The server name of all.
    pub tls_servername: Option<String>,
    pub force_tcp: bool,
}

impl Template {
    fn target(&self, endpoint: Endpoint) -> Target {
        let mut options = self.options.clone();
        options.scheme = endpoint.scheme;
        options.addr = endpoint.addr;
        options.server_name = endpoint.server_name.clone();
        // TLS is TCP anyway.
        options.health.tcp = self.force_tcp && endpoint.scheme != Scheme::Tls;
        let upstream = Upstream::new(options);
        Target { addr: endpoint.addr, upstream, streak: Streak::default(), endpoint }
    }

    /// Checks an address; the errors are CoreDNS's, but for the ports and schemes it takes and cannot use.
    fn endpoint(&self, address: &Address) -> Result<Endpoint, String> {
        use corefile::Scheme as Written;
        let scheme = match address.scheme {
            Written::Dns => Scheme::Dns,
            Written::Tls => Scheme::Tls,
            Written::Https => Scheme::Https,
            Written::Quic => return Err(format!("quic:// upstreams are still to come in Rhumb: {address}")),
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
    /// `from` holds no names any more; those were resolved.
    pub fn new(from: Vec<To>, template: Template, pools: Arc<Pools>) -> Result<Targets, String> {
        let list = assemble(&from, &template, &pools)?;
        if list.is_empty() {
            return Err("no valid upstream addresses found".into());
        }
        Ok(Targets { list: ArcSwap::from_pointee(list), from: Mutex::new(from), template, pools })
    }

    pub fn list(&self) -> Arc<Vec<Arc<Target>>> {
        self.list.load_full()
    }

    pub fn follows_files(&self) -> bool {
        self.from().iter().any(|to| matches!(to, To::File(..)))
    }

    /// Reads the files again. One that is gone, or names no server, changes nothing: what was good before is
    /// better than nothing.
    pub fn refresh(&self) {
        let mut from = self.from();
        let mut changed = false;
        for to in from.iter_mut() {
            let To::File(file) = to else { continue };
            if file.refresh() {
                let now: Vec<&str> = file.addresses.iter().map(|address| address.host.as_str()).collect();
                LOG.info(format_args!("{}: now {}", file.path().display(), now.join(", ")));
                changed = true;
            }
        }
        if !changed {
            return;
        }
        // What is in files is always an address for plain DNS, which has nothing that could be wrong.
        let Ok(list) = assemble(&from, &self.template, &self.pools) else { return };
        self.list.store(Arc::new(list));
    }

    fn from(&self) -> std::sync::MutexGuard<'_, Vec<To>> {
        self.from.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The upstreams in the order of the Corefile, each once. Those that are known keep their sockets and health.
fn assemble(from: &[To], template: &Template, pools: &Pools) -> Result<Vec<Arc<Target>>, String> {
    let mut list: Vec<Arc<Target>> = Vec::new();
    for to in from {
        let addresses = match to {
            To::Addresses(addresses) => addresses,
            To::File(file) => &file.addresses,
            To::Host(_) => continue,
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
