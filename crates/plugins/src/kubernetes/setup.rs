//! `kubernetes [ZONES...] { OPTIONS }`. Setup opens no connection: a Corefile can be checked without a cluster.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use cluster::Level;
use corefile::Diagnostic;
use server::{Lifecycle, Metadata, Prefetch, Ready, SearchPath, Setup};
use wire::{Name, NameBuf};

use super::clusters::Clusters;
use super::options::Options;
use super::{Kubernetes, LOG, NAME, Zone, kubeconfig, register_metrics};
use crate::host_files::resolv_conf;
use crate::k8s_external::ExternalServices;
use crate::options::is_under_any;

const RESOLV_CONF: &str = "/etc/resolv.conf";

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    register_metrics();
    cluster::set_logger(log);
    cluster::set_heap_trim(net::trim_heap);
    let mut seen = false;
    while s.c.next() {
        if std::mem::replace(&mut seen, true) {
            return Err(s.once_error());
        }
        let args = s.c.remaining_args();
        let zones = s.zones(&args);
        let primary = zones.iter().position(|zone| !is_reverse(zone.as_name()));
        let primary = primary.ok_or_else(|| {
            let error = s.c.bare_err("non-reverse zone name must be used");
            error.help("PTR records need a zone to point into, such as cluster.local")
        })?;
        let mut options = Options::default();
        while s.c.next_block() {
            options.read(s)?;
        }
        options.check(s, &zones)?;
        build(s, zones, primary, options)?;
    }
    Ok(())
}

fn build(s: &mut Setup<'_>, zones: Vec<NameBuf>, primary: usize, options: Options) -> Result<(), Diagnostic> {
    // `metadata` comes earlier in the plugin order.
    let external = s.has_directive("k8s_external");
    let want = options.want(s.settings().metadata_zones.is_some(), external);
    let clusters = s.shared("", Clusters::default);
    let watched = clusters.get(&kubeconfig::override_source(options.source()));
    let too_many = || s.c.bare_err("too many different label selectors for one cluster");
    let joined = watched.join(&want).ok_or_else(too_many)?;
    let zone = |name: NameBuf| Zone {
        is_multicluster: is_under_any(name.as_name(), &options.multicluster),
        is_reverse: is_reverse(name.as_name()),
        name,
    };
    let primary_zone = zones[primary].clone();
    let mut zones: Vec<Zone> = zones.into_iter().map(zone).collect();
    zones.sort_by_key(|zone| Reverse(zone.name.as_name().len()));
    let primary = zones.iter().position(|zone| zone.name == primary_zone).unwrap_or(0);
    options.kubeconfig.iter().for_each(|(file, _)| s.reads(file));
    s.reads(Path::new(RESOLV_CONF));
    // Without the file there is no search path.
    let search = resolv_conf::search_path(Path::new(RESOLV_CONF)).unwrap_or_default();
    s.add_linked(NAME, move |link| {
        let bound = link.servers().into_iter().map(|server| {
            let address = server.strip_prefix("dns://").unwrap_or(server);
            address.parse::<SocketAddr>().ok().map(|address| address.ip())
        });
        let plugin = Arc::new(Kubernetes {
            zones,
            primary,
            options,
            kinds: want.kinds,
            joined,
            clusters,
            watched,
            bound: bound.collect(),
            local: OnceLock::new(),
            search,
        });
        link.offer::<dyn Lifecycle>(plugin.clone());
        link.offer::<dyn Ready>(plugin.clone());
        link.offer::<dyn Metadata>(plugin.clone());
        link.offer::<dyn Prefetch>(plugin.clone());
        link.offer::<dyn SearchPath>(plugin.clone());
        link.offer::<dyn ExternalServices>(plugin.clone());
        Ok(plugin)
    });
    Ok(())
}

/// Whether a zone is at or under `in-addr.arpa` or `ip6.arpa`.
fn is_reverse(zone: Name<'_>) -> bool {
    const TREES: [&[u8]; 2] = [b"\x07in-addr\x04arpa\0", b"\x03ip6\x04arpa\0"];
    TREES.into_iter().filter_map(Name::from_wire).any(|tree| zone.is_under(tree))
}

fn log(level: Level, line: &str) {
    match level {
        Level::Info => LOG.info(line),
        Level::Warning => LOG.warning(line),
        Level::Error => LOG.error(line),
    }
}
