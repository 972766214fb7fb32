//! The configuration built from a Corefile: blocks, services per address, HTTP routes and periodic tasks.

pub(crate) mod fingerprint;
pub(crate) mod setup;
pub(crate) mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

use corefile::{Diagnostic, Scheme, Source, ZoneKey, ZoneListener, block_zones, check_overlap};
use sha2::{Digest, Sha512};
use wire::NameBuf;

use crate::config::fingerprint::Files;
use crate::config::setup::{
    Availability, BlockDraft, ChainDraft, ConfigDraft, CorefilePoll, Link, Periodic, PluginDraft, PluginSpec,
    Setup,
};
use crate::config::values::Values;
use crate::http::{Route, SharedWebSource};
use crate::listen::transport;
use crate::{Block, BlockFilter, Lifecycle, Observer, Plugin, Service};

/// A Corefile with its name and defaults.
#[derive(Clone)]
pub struct Input {
    /// For messages.
    pub name: String,
    pub contents: Vec<u8>,
    /// The port of zone keys without one.
    pub dns_port: String,
}

/// A checked configuration. Nothing of it runs yet.
pub struct Config {
    pub(crate) services: Vec<(Address, Arc<Service>)>,
    pub(crate) blocks: Vec<Arc<Block>>,
    pub(crate) routes: Vec<Route>,
    /// Addresses whose routes are served over TLS.
    pub(crate) http_tls: BTreeMap<String, SharedWebSource>,
    pub(crate) tasks: Vec<Periodic>,
    pub(crate) lameduck: Option<(&'static str, Duration)>,
    pub(crate) poll: Option<CorefilePoll>,
    /// Values that the next configuration may reuse.
    pub(crate) kept: Values,
    /// Files that its plugins read.
    pub(crate) files: Files,
    pub digest: String,
    pub warnings: Vec<Diagnostic>,
    /// `ZONE:PORT` lines, as printed at start.
    pub banner: Vec<String>,
}

impl Config {
    /// The configuration of a server before its first one: serves nothing.
    pub(crate) fn empty() -> Config {
        Config {
            services: Vec::new(),
            blocks: Vec::new(),
            routes: Vec::new(),
            http_tls: BTreeMap::new(),
            tasks: Vec::new(),
            lameduck: None,
            poll: None,
            kept: Values::default(),
            files: Files::default(),
            digest: String::new(),
            warnings: Vec::new(),
            banner: Vec::new(),
        }
    }

    /// The listening addresses and their services.
    pub fn services(&self) -> impl Iterator<Item = (&Address, &Arc<Service>)> {
        self.services.iter().map(|(address, service)| (address, service))
    }

    /// The server blocks in the order of the Corefile.
    pub fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }

    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    pub fn tasks(&self) -> &[Periodic] {
        &self.tasks
    }

    /// Calls `prepare` of all plugins, which may block. Before that, plugins open no connections.
    pub fn prepare(&self) -> Result<(), String> {
        for offered in self.blocks.iter().flat_map(|block| block.offers::<dyn Lifecycle>()) {
            offered.value.prepare().map_err(|error| format!("plugin/{}: {error}", offered.plugin))?;
        }
        Ok(())
    }

    /// Calls a method of all plugins with a lifecycle; a panic in one is logged, and the others are still called.
    pub fn each_lifecycle(&self, task: &str, work: fn(&dyn Lifecycle)) {
        for offered in self.blocks.iter().flat_map(|block| block.offers::<dyn Lifecycle>()) {
            supervise::step(task, || work(offered.value.as_ref()));
        }
    }
}

/// A listening address and its transport; all addresses if there is no IP.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    pub scheme: Scheme,
    pub ip: Option<IpAddr>,
    pub scope: u32,
    pub port: u16,
}

impl Address {
    /// The address to bind; all addresses means both families.
    pub fn socket_addr(&self) -> SocketAddr {
        match self.ip {
            None => SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), self.port),
            Some(IpAddr::V6(ip)) => SocketAddr::V6(SocketAddrV6::new(ip, self.port, 0, self.scope)),
            Some(ip) => SocketAddr::new(ip, self.port),
        }
    }

    /// `dns://:53`, as logs and metrics name the server.
    pub fn label(&self) -> String {
        format!("{}://{self}", self.scheme)
    }

    pub fn is_wildcard(&self) -> bool {
        self.ip.is_none_or(|ip| ip.is_unspecified())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            None => write!(f, ":{}", self.port),
            Some(_) => self.socket_addr().fmt(f),
        }
    }
}

/// A parsed Corefile whose plugins are not set up.
pub struct Parsed {
    corefile: corefile::Parsed,
    dns_port: String,
    /// The SHA-512 of its content with imports, independent of layout.
    pub digest: String,
}

/// Parses a Corefile.
pub fn parse(input: &Input, plugins: &[PluginSpec], source: &dyn Source) -> Result<Parsed, Diagnostic> {
    let known: Vec<&str> = plugins.iter().map(|spec| spec.name).collect();
    let corefile = corefile::read(&input.name, &input.contents, Some(&known), source)?;
    let hash = Sha512::digest(corefile::canonical_json(&corefile.blocks));
    let digest = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Parsed { corefile, dns_port: input.dns_port.clone(), digest })
}

/// Parses a Corefile and sets up its plugins. Returns all errors it can find; the first one is CoreDNS's.
pub fn build(input: &Input, plugins: &[PluginSpec], source: &dyn Source) -> Result<Config, Vec<Diagnostic>> {
    let parsed = parse(input, plugins, source).map_err(|error| vec![error])?;
    set_up(parsed, plugins, &Config::empty())
}

/// Sets up the plugins of a parsed Corefile. Values that plugins keep across configurations are shared with the running
/// one, which keeps them whether or not the new one ever serves.
pub fn set_up(parsed: Parsed, plugins: &[PluginSpec], running: &Config) -> Result<Config, Vec<Diagnostic>> {
    let Parsed { corefile: parsed, dns_port, digest } = parsed;
    if let Some(unknown) = parsed.unknown {
        return Err(vec![unknown]);
    }
    let mut common = ConfigDraft {
        digest,
        warnings: parsed.warnings,
        running: running.kept.clone(),
        files: running.files.next(),
        ..ConfigDraft::default()
    };

    let keys: Vec<Vec<ZoneKey>> = parsed
        .blocks
        .iter()
        .map(|block| block_zones(block, &dns_port))
        .collect::<Result<_, _>>()
        .map_err(|error| vec![error])?;
    let mut drafts: Vec<BlockDraft> = parsed.blocks.iter().map(|_| BlockDraft::default()).collect();
    let mut errors = Vec::new();
    for (position, spec) in plugins.iter().enumerate() {
        let later = &plugins[position + 1..];
        for ((block, keys), draft) in parsed.blocks.iter().zip(&keys).zip(&mut drafts) {
            let Some(c) = block.dispenser(spec.name) else { continue };
            let result = match spec.availability {
                Availability::Available(setup) => {
                    let (name, common) = (spec.name, &mut common);
                    setup(&mut Setup { c, name, position: None, keys, block, later, draft, common })
                }
                Availability::Planned => Err(unavailable(c, spec, "is still to come in Rhumb", None)),
                Availability::Unsupported(instead) => {
                    Err(unavailable(c, spec, "is not part of Rhumb", Some(instead)))
                }
            };
            errors.extend(result.err().map(|error| in_plugin(error, spec.name)));
        }
    }
    if errors.is_empty() { assemble(keys, drafts, common).map_err(|error| vec![error]) } else { Err(errors) }
}

/// The error with the name of the plugin, unless it has one.
fn in_plugin(error: Diagnostic, name: &'static str) -> Diagnostic {
    if error.plugin().is_none() { error.in_plugin(name) } else { error }
}

fn unavailable(
    mut c: corefile::Dispenser<'_>,
    spec: &PluginSpec,
    why: &str,
    instead: Option<&str>,
) -> Diagnostic {
    c.next();
    let error = c.err(format!("plugin '{}' {why}", spec.name));
    match instead {
        Some(instead) => error.help(instead),
        None => error,
    }
}

/// Groups the blocks by listening address, then makes their plugins.
fn assemble(
    keys: Vec<Vec<ZoneKey>>,
    drafts: Vec<BlockDraft>,
    common: ConfigDraft,
) -> Result<Config, Diagnostic> {
    let mut listening = Vec::new();
    // Of each block: the addresses with a zone each, and the same as metrics label them.
    let mut places: Vec<Vec<(Address, NameBuf)>> = Vec::new();
    for (keys, draft) in keys.iter().zip(&drafts) {
        if draft.chain.len() > crate::walk::block::MAX_CHAIN {
            let error =
                format!("server block has too many plugins: the limit is {}", crate::walk::block::MAX_CHAIN);
            return Err(keys
                .first()
                .map_or(Diagnostic::error(&error), |key| Diagnostic::error(&error).at(&key.span)));
        }
        let is_filtered = !draft.offers.all::<dyn BlockFilter>().is_empty();
        let mut block_places = Vec::new();
        let every_address = [String::new()];
        let hosts = draft.hosts.as_deref().unwrap_or(&every_address);
        for key in keys {
            if transport::find(key.scheme).is_none() {
                let error = format!("{}:// listeners are still to come in Rhumb", key.scheme);
                return Err(Diagnostic::error(error).at(&key.span));
            }
            let zone = NameBuf::parse(&key.zone)
                .map_err(|error| Diagnostic::error(format!("zone {}: {error}", key.zone)).at(&key.span))?;
            for host in hosts {
                listening.push(ZoneListener::new(key, host, is_filtered));
                block_places.push((address(host, key)?, zone.clone()));
            }
        }
        places.push(block_places);
    }
    check_overlap(&listening)?;
    let mut blocks = Vec::new();
    let mut groups: BTreeMap<Address, Vec<(NameBuf, Arc<Block>)>> = BTreeMap::new();
    for (draft, places) in drafts.into_iter().zip(places) {
        let served: Vec<(String, String)> =
            places.iter().map(|(address, zone)| (address.label(), zone.to_string())).collect();
        let block = Arc::new(link(draft, &served)?);
        for (address, zone) in places {
            groups.entry(address).or_default().push((zone, block.clone()));
        }
        blocks.push(block);
    }
    let banner = groups.iter().flat_map(|(address, zones)| banner(address, zones)).collect();
    let observer = blocks.iter().flat_map(|block| block.offers::<dyn Observer>()).next();
    let observer = observer.map(|offered| offered.value);
    let services = groups
        .into_iter()
        .map(|(address, zones)| {
            (address.clone(), Arc::new(Service::new(address.label(), zones).with_observer(observer.clone())))
        })
        .collect();
    Ok(Config {
        services,
        blocks,
        routes: common.routes,
        http_tls: common.http_tls,
        tasks: common.tasks,
        lameduck: common.lameduck,
        poll: common.poll,
        kept: common.kept,
        files: common.files,
        digest: common.digest,
        warnings: common.warnings,
        banner,
    })
}

/// Phase 2 of setup: makes the plugins of a block, from the last to the first.
fn link(draft: BlockDraft, served: &[(String, String)]) -> Result<Block, Diagnostic> {
    let BlockDraft { chain: places, links, mut offers, settings, .. } = draft;
    let names: Vec<&'static str> = places.iter().map(|place| place.name).collect();
    let mut chain: Vec<Arc<dyn Plugin>> = Vec::new();
    for (position, ChainDraft { name, plugin }) in places.into_iter().enumerate().rev() {
        chain.push(match plugin {
            PluginDraft::Made(plugin) => plugin,
            PluginDraft::Linked(make) => {
                let position = Some(position);
                let link = &mut Link { name, position, chain: &names, served, offers: &mut offers };
                make(link).map_err(|error| in_plugin(error, name))?
            }
        });
    }
    chain.reverse();
    for (name, work) in links {
        work(&mut Link { name, position: None, chain: &names, served, offers: &mut offers });
    }
    Ok(Block::new(chain, offers, settings))
}

/// A host of `bind`, with the key's port. The host may have an IPv6 scope: `fe80::1%2`.
fn address(host: &str, key: &ZoneKey) -> Result<Address, Diagnostic> {
    let port = key.port_number()?;
    if host.is_empty() {
        return Ok(Address { scheme: key.scheme, ip: None, scope: 0, port });
    }
    let (ip, scope) = host.split_once('%').unwrap_or((host, "0"));
    let wrong =
        || Diagnostic::error(format!("listen address: expected an IP address, got '{host}'")).at(&key.span);
    let ip: IpAddr = ip.parse().map_err(|_| wrong())?;
    // An IPv4-mapped IPv6 address is an IPv4 address.
    let (ip, scope) = (Some(ip.to_canonical()), scope.parse().map_err(|_| wrong())?);
    Ok(Address { scheme: key.scheme, ip, scope, port })
}

/// One line per zone, sorted, without duplicates; with the address if one is configured.
fn banner(address: &Address, zones: &[(NameBuf, Arc<Block>)]) -> Vec<String> {
    let mut names: Vec<String> = zones.iter().map(|(zone, _)| zone.to_string()).collect();
    names.sort();
    names.dedup();
    let place = match address.ip {
        None => format!(":{}", address.port),
        Some(ip) => format!(":{} on {ip}", address.port),
    };
    let mut lines = Vec::new();
    for name in names {
        if !follows_preferred_syntax(&name) {
            lines.push(format!("Warning: Domain \"{name}\" does not follow RFC1035 preferred syntax"));
        }
        lines.push(format!("{name}{place}"));
    }
    lines
}

/// RFC 1035 §2.3.1: labels begin with a letter and have letters, digits and inner hyphens. The root and reverse
/// zones are exempt.
fn follows_preferred_syntax(zone: &str) -> bool {
    if zone == "." || zone.ends_with(".in-addr.arpa.") || zone.ends_with(".ip6.arpa.") {
        return true;
    }
    zone.trim_end_matches('.').split('.').all(|label| {
        label.starts_with(|c: char| c.is_ascii_alphabetic())
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    })
}
