//! `forward FROM TO... { OPTIONS }`

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use corefile::{Diagnostic, Scheme};
use server::Setup;
use upstream::Network;
use wire::NameBuf;

use super::concurrent::Concurrent;
use super::options::Options;
use super::pools::{self, Pools};
use super::targets::{Targets, Template};
use super::to::To;
use super::{Core, Forward, NAME, WhichNetwork, hostname, register_metrics};

const MOST_TOS: usize = 15;
/// How often files with name servers are read.
const FOLLOW: Duration = Duration::from_secs(5);
/// Health checks of a port that refuses at once would have no pause at all.
const LEAST_INTERVAL: Duration = Duration::from_millis(10);
/// An upstream with a streak of SERVFAIL is left alone for at least this long.
const LEAST_HOLD: Duration = Duration::from_secs(1);

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    read_all(s, Options::read)
}

/// Reads all lines of the directive; `option` reads one option.
pub(super) fn read_all(
    s: &mut Setup<'_>,
    option: fn(&mut Options, &mut Setup<'_>) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    register_metrics();
    let mut lines = Vec::new();
    while s.c.next() {
        lines.push(read(s, option)?);
    }
    for (tos, _) in &lines {
        if *tos > MOST_TOS {
            return Err(s.c.bare_err(format_args!("more than {MOST_TOS} TOs configured: {tos}")));
        }
    }
    for (_, forward) in lines {
        let targets = &forward.core.targets;
        if targets.follows_files() {
            let targets = Arc::clone(targets);
            s.every("forward: files of upstreams", FOLLOW, move || targets.refresh());
        }
        s.add(forward);
    }
    Ok(())
}

/// One line: how many TOs it has, and what becomes of it.
fn read(
    s: &mut Setup<'_>,
    option: fn(&mut Options, &mut Setup<'_>) -> Result<(), Diagnostic>,
) -> Result<(usize, Forward), Diagnostic> {
    let from = from(s)?;
    let tos = s.c.remaining_args();
    if tos.is_empty() {
        return Err(s.c.arg_err());
    }
    let mut options = Options::default();
    while s.c.next_block() {
        option(&mut options, s)?;
    }
    options.check(&s.c)?;
    let tos = read_tos(&tos, &options).map_err(|error| s.c.bare_err(error))?;
    for to in &tos {
        if let To::File(file) = to {
            s.reads(file.path());
        }
    }
    let count = tos.iter().filter(|to| to.counts()).count();
    let forward = build(s, from, tos, options).map_err(|error| s.c.bare_err(error))?;
    Ok((count, forward))
}

fn from(s: &mut Setup<'_>) -> Result<NameBuf, Diagnostic> {
    let Some([from]) = s.c.args() else { return Err(s.c.arg_err()) };
    let zones = corefile::normalize_exact(from);
    let zone = zones.first().and_then(|zone| NameBuf::parse(zone).ok());
    let zone = zone.ok_or_else(|| s.c.bare_err(format_args!("unable to normalize '{from}'")))?;
    if zones.len() > 1 {
        let warning = format!(
            "Unsupported CIDR notation: '{from}' expands to multiple zones. Using only '{}'.",
            zones[0]
        );
        let warning = s.c.warning(warning).in_plugin(NAME);
        s.warn(warning);
    }
    Ok(zone)
}

/// All TOs, names turned into addresses.
fn read_tos(tos: &[&str], options: &Options) -> Result<Vec<To>, String> {
    for to in tos {
        if let (Scheme::Https, host) = Scheme::split(to)
            && host.contains('/')
        {
            return Err(format!(
                "paths are not allowed in HTTPS upstream addresses (the /dns-query path is used by default): {to}"
            ));
        }
    }
    let parsed: Vec<To> = tos.iter().map(|to| To::parse(to)).collect::<Result<_, _>>()?;
    let resolved = parsed.into_iter().map(|to| match to {
        To::Host(host) => hostname::resolve(&host, &options.resolvers).map(To::Addresses),
        known => Ok(known),
    });
    resolved.collect()
}

fn build(s: &mut Setup<'_>, from: NameBuf, tos: Vec<To>, options: Options) -> Result<Forward, String> {
    let network = match (options.force_tcp, options.prefer_udp) {
        (true, _) => WhichNetwork::Always(Network::Tcp),
        (false, true) => WhichNetwork::Always(Network::Udp),
        (false, false) => WhichNetwork::AsClient,
    };
    let hold = options.health.interval.max(LEAST_HOLD);
    let (tls, print) = options.tls.unzip();
    let template = Template {
        tls_servername: options.tls_servername,
        force_tcp: options.force_tcp,
        options: upstream::Options {
            proxy_name: NAME,
            expire: options.expire,
            max_age: Some(options.max_age).filter(|age| !age.is_zero()),
            max_idle: options.max_idle_conns,
            read_timeout: options.read_timeout,
            source: options.source_address,
            tls,
            doh_method: options.doh_method,
            health: upstream::Health {
                interval: options.health.interval.max(LEAST_INTERVAL),
                recursion_desired: options.health.recursion_desired,
                domain: options.health.domain,
                tcp: false,
            },
            mixed_case: options.mixed_case,
            ..upstream::Options::new(upstream::Scheme::Dns, ([0, 0, 0, 0], 53).into())
        },
    };
    let pools = s.kept(&pools::key(&template.options, print, template.force_tcp), Pools::default);
    let core = Core {
        policy: options.policy,
        max_fails: options.max_fails,
        max_attempts: options.max_connect_attempts,
        failfast: options.failfast,
        failover: options.failover,
        retry_truncated: options.prefer_udp && !options.force_tcp,
        servfail_hold: options.unhealthy_on_servfail.then_some(hold),
        targets: Arc::new(Targets::new(tos, template, pools)?),
    };
    Ok(Forward {
        from,
        except: options.except,
        next_rcodes: options.next,
        next_on_nodata: options.next_on_nodata,
        next_is_forward: AtomicBool::new(false),
        network,
        concurrent: Arc::new(Concurrent::new(options.max_concurrent, &options.max_concurrent_text)),
        core: Arc::new(core),
        taps: OnceLock::new(),
    })
}
