//! `forward FROM TO... { OPTIONS }`

use std::sync::Arc;
use std::time::Duration;

use corefile::{Diagnostic, Scheme};
use server::{Metadata, Setup, Tap};
use upstream::Network;
use wire::NameBuf;

use super::concurrency::ConcurrencyLimit;
use super::destination::Destination;
use super::options::Options;
use super::pools::{self, Pools};
use super::targets::{Targets, Template};
use super::{Core, Forward, NAME, NetworkChoice, NextRules, hostname, register_metrics};

const MAX_TOS: usize = 15;
/// Interval at which resolv.conf files are read.
const FILE_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum interval of health checks: those of a port that refuses at once would have no pause at all.
const MIN_HEALTH_INTERVAL: Duration = Duration::from_millis(10);
/// Minimum time an upstream is down after a streak of SERVFAIL.
const MIN_HOLD: Duration = Duration::from_secs(1);

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
        if *tos > MAX_TOS {
            return Err(s.c.bare_err(format_args!("more than {MAX_TOS} TOs configured: {tos}")));
        }
    }
    for (_, forward) in lines {
        let targets = &forward.core.targets;
        if targets.has_files() {
            let targets = Arc::clone(targets);
            s.every("forward: files of upstreams", FILE_INTERVAL, move || targets.refresh());
        }
        s.add_linked(NAME, move |link| {
            let mut forward = forward;
            if link.next() != Some(NAME) {
                forward.next = NextRules::default();
            }
            forward.taps = link.offers::<dyn Tap>().into_iter().map(|offered| offered.value).collect();
            let forward = Arc::new(forward);
            link.offer::<dyn Metadata>(forward.clone());
            Ok(forward)
        });
    }
    // Upstreams may serve other classes than IN.
    s.settings().any_class = true;
    Ok(())
}

/// Reads one line; returns its number of TOs and the plugin.
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
        if let Destination::File(file) = to {
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

/// Parses all TOs and resolves host names to addresses.
fn read_tos(tos: &[&str], options: &Options) -> Result<Vec<Destination>, String> {
    for to in tos {
        if let (Scheme::Https, host) = Scheme::split(to)
            && host.contains('/')
        {
            return Err(format!(
                "paths are not allowed in HTTPS upstream addresses (the /dns-query path is used by default): {to}"
            ));
        }
    }
    let parsed: Vec<Destination> = tos.iter().map(|to| Destination::parse(to)).collect::<Result<_, _>>()?;
    let resolved = parsed.into_iter().map(|to| match to {
        Destination::Host(host) => hostname::resolve(&host, &options.resolvers).map(Destination::Addresses),
        other => Ok(other),
    });
    resolved.collect()
}

fn build(
    s: &mut Setup<'_>,
    from: NameBuf,
    tos: Vec<Destination>,
    options: Options,
) -> Result<Forward, String> {
    let network = match (options.force_tcp, options.prefer_udp) {
        (true, _) => NetworkChoice::Always(Network::Tcp),
        (false, true) => NetworkChoice::Always(Network::Udp),
        (false, false) => NetworkChoice::AsClient,
    };
    let hold = options.health.interval.max(MIN_HOLD);
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
                interval: options.health.interval.max(MIN_HEALTH_INTERVAL),
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
        next: NextRules { rcodes: options.next, on_nodata: options.next_on_nodata },
        network,
        concurrency: Arc::new(ConcurrencyLimit::new(options.max_concurrent, &options.max_concurrent_text)),
        core: Arc::new(core),
        taps: Arc::new([]),
    })
}
