//! `proxy`, which `forward` took the place of in CoreDNS 1.5: old Corefiles still say it. It is `forward` in
//! every respect and takes its old options too, those without a meaning today with a warning.

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
            warn(s, "'fail_timeout' has no effect: upstreams that fail are checked until they answer again");
            Ok(())
        }
        "timeout" => {
            let given = duration(&mut s.c)?;
            options.read_timeout = given
                .above_zero()
                .ok_or_else(|| s.c.bare_err(format_args!("timeout must be positive: {given}")))?;
            warn(s, "'timeout' is called 'read_timeout' now");
            Ok(())
        }
        "spray" => {
            warn(s, "'spray' has no effect: when all upstreams are down, one at random is asked anyway");
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
            warn(s, "policy 'least_conn' is gone; upstreams are chosen at random");
        }
        "first" => {
            options.policy = Policy::Sequential;
            s.c = ahead;
            warn(s, "policy 'first' is called 'sequential' now");
        }
        _ => return options.read(s),
    }
    Ok(())
}

/// `health_check PATH:PORT [DURATION]` asked over HTTP; today a DNS query does, from a duration on.
fn health_check(options: &mut Options, s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut ahead = s.c.clone();
    let first = argument(&mut ahead)?;
    if GoDuration::parse(first).is_ok() || !first.contains('/') {
        return options.read(s);
    }
    s.c = ahead;
    // The old interval was meant for a check that never ended; that of today only runs while one is down.
    if let Some(text) = s.c.remaining_args().first() {
        GoDuration::parse(text).map_err(|error| s.c.bare_err(error))?;
    }
    warn(s, "'health_check' over HTTP is gone; upstreams are checked with a DNS query when they fail");
    Ok(())
}

fn protocol(options: &mut Options, s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    match s.c.remaining_args()[..] {
        ["dns"] => Ok(()),
        ["dns", "force_tcp"] => {
            options.force_tcp = true;
            Ok(())
        }
        ["grpc", ..] => Err(s.c.err("protocol 'grpc' is the plugin 'grpc' now")),
        ["https_google", ..] => Err(s.c.err("protocol 'https_google' is gone").help("use https://8.8.8.8")),
        _ => Err(s.c.arg_err()),
    }
}

fn warn(s: &mut Setup<'_>, text: &str) {
    let warning = s.c.warning(text).in_plugin("proxy");
    s.warn(warning);
}
