//! The directive `proxy`, which `forward` replaced in CoreDNS 1.5. It is `forward` and also accepts the old options;
//! those without effect give a warning.

use corefile::Diagnostic;
use golang::GoDuration;
use server::Setup;

use super::number::{argument, duration};
use super::options::Options;
use super::policy::Policy;
use super::setup::read_all;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    read_all(s, read)
}

fn read(options: &mut Options, s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    match s.c.val() {
        "policy" => policy(options, s),
        "fail_timeout" => {
            duration(&mut s.c)?;
            warn(s, "'fail_timeout' has no effect: failed upstreams are checked until they answer");
            Ok(())
        }
        "timeout" => {
            let given = duration(&mut s.c)?;
            options.read_timeout = given
                .above_zero()
                .ok_or_else(|| s.c.bare_err(format_args!("timeout must be positive: {given}")))?;
            warn(s, "'timeout' was renamed to 'read_timeout'");
            Ok(())
        }
        "spray" => {
            warn(s, "'spray' has no effect: when all upstreams are down, a random one is queried");
            Ok(())
        }
        "health_check" => health_check(options, s),
        "protocol" => protocol(options, s),
        _ => options.read(s),
    }
}

fn policy(options: &mut Options, s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut ahead = s.c.clone();
    match argument(&mut ahead)? {
        "least_conn" => {
            options.policy = Policy::Random;
            s.c = ahead;
            warn(s, "policy 'least_conn' was removed; upstreams are chosen at random");
        }
        "first" => {
            options.policy = Policy::Sequential;
            s.c = ahead;
            warn(s, "policy 'first' was renamed to 'sequential'");
        }
        _ => return options.read(s),
    }
    Ok(())
}

/// `health_check PATH:PORT [DURATION]` was a check over HTTP; today's checks are DNS queries.
fn health_check(options: &mut Options, s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut ahead = s.c.clone();
    let first = argument(&mut ahead)?;
    if GoDuration::parse(first).is_ok() || !first.contains('/') {
        return options.read(s);
    }
    s.c = ahead;
    // The old interval is not used: it was for a permanent check, today's runs only while an upstream is down.
    if let Some(text) = s.c.remaining_args().first() {
        GoDuration::parse(text).map_err(|error| s.c.bare_err(error))?;
    }
    warn(s, "'health_check' over HTTP was removed; upstreams that fail are checked with a DNS query");
    Ok(())
}

fn protocol(options: &mut Options, s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    match s.c.remaining_args()[..] {
        ["dns"] => Ok(()),
        ["dns", "force_tcp"] => {
            options.force_tcp = true;
            Ok(())
        }
        ["grpc", ..] => Err(s.c.err("protocol 'grpc' was removed: use the plugin 'grpc'")),
        ["https_google", ..] => {
            Err(s.c.err("protocol 'https_google' was removed").help("use https://8.8.8.8"))
        }
        _ => Err(s.c.arg_err()),
    }
}

fn warn(s: &mut Setup<'_>, text: &str) {
    let warning = s.c.warning(text).in_plugin("proxy");
    s.warn(warning);
}
