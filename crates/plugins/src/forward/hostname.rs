//! Resolves the host names of upstreams, once at setup.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use upstream::{Network, Options, Scheme, Upstream};
use wire::{NameBuf, Query, Reply, Rtype, Section};

use super::destination::{Address, Host};

const TIMEOUT: Duration = Duration::from_secs(2);
const UDP_SIZE: u16 = 512;

/// Resolves a host through these resolvers, or through the system if there are none.
pub(super) fn resolve(host: &Host, resolvers: &[SocketAddr]) -> Result<Vec<Address>, String> {
    let found =
        if resolvers.is_empty() { by_system(&host.name) } else { by_resolvers(&host.name, resolvers) };
    let name = golang::quoted(&host.name);
    let ips = found.map_err(|error| format!("failed to resolve {name}: {error}"))?;
    let address = |ip: IpAddr| Address {
        scheme: host.scheme,
        host: ip.to_canonical().to_string(),
        port: host.port.clone(),
        server_name: host.server_name.clone(),
    };
    Ok(ips.into_iter().map(address).collect())
}

/// Resolves through the system. The name is absolute: no search path applies.
fn by_system(name: &str) -> Result<Vec<IpAddr>, String> {
    let absolute = if name.ends_with('.') { name.to_owned() } else { format!("{name}.") };
    let mut ips = Vec::new();
    for addr in (absolute.as_str(), 0).to_socket_addrs().map_err(|_| no_such_host(&absolute))? {
        if !ips.contains(&addr.ip()) {
            ips.push(addr.ip());
        }
    }
    if ips.is_empty() { Err(no_such_host(&absolute)) } else { Ok(ips) }
}

fn no_such_host(name: &str) -> String {
    format!("lookup {name}: no such host")
}

/// Setup runs on a plain thread or inside a runtime, so the lookup has its own thread and runtime.
fn by_resolvers(name: &str, resolvers: &[SocketAddr]) -> Result<Vec<IpAddr>, String> {
    let found = std::thread::scope(|scope| {
        let work = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            Ok::<_, std::io::Error>(runtime.block_on(query_in_turn(name, resolvers)))
        };
        // A panic is logged where it happens; here the name counts as not found.
        scope.spawn(move || supervise::step("forward-resolve", work)).join().ok().flatten()
    });
    let error = match found {
        Some(Ok(Ok(ips))) => return Ok(ips),
        Some(Ok(Err(error))) => error,
        Some(Err(error)) => Some(golang::system_error(&error)),
        None => None,
    };
    let name = golang::quoted(name);
    Err(match error {
        Some(error) => format!("no addresses found for {name}: {error}"),
        None => format!("no addresses found for {name}"),
    })
}

/// The addresses from the first resolver that has any, else the last error.
async fn query_in_turn(name: &str, resolvers: &[SocketAddr]) -> Result<Vec<IpAddr>, Option<String>> {
    let Ok(name) = NameBuf::parse(name) else { return Err(None) };
    let mut last = None;
    for &resolver in resolvers {
        // Without a proxy name it is not counted in the metrics.
        let options =
            Options { proxy_name: "", read_timeout: TIMEOUT, ..Options::new(Scheme::Dns, resolver) };
        let upstream = Upstream::new(options);
        let mut ips = Vec::new();
        for qtype in [Rtype::A, Rtype::AAAA] {
            let query = Query::ask(name.as_name(), qtype).to_packet();
            match upstream.exchange(&query, Network::Udp, UDP_SIZE).await {
                Ok(answer) => ips.extend(addresses(&answer.message)),
                // A records are enough.
                Err(_) if !ips.is_empty() => break,
                Err(error) => {
                    last = Some(error.to_string());
                    break;
                }
            }
        }
        upstream.stop();
        if !ips.is_empty() {
            return Ok(ips);
        }
    }
    Err(last)
}

fn addresses(message: &[u8]) -> Vec<IpAddr> {
    let mut reply = Reply::new();
    if reply.decode(message).is_none() {
        return Vec::new();
    }
    let address = |record: &wire::Record| {
        let data = reply.data(record);
        match record.rtype {
            Rtype::A => <[u8; 4]>::try_from(data).ok().map(IpAddr::from),
            Rtype::AAAA => <[u8; 16]>::try_from(data).ok().map(IpAddr::from),
            _ => None,
        }
    };
    reply.section(Section::Answer).iter().filter_map(address).collect()
}
