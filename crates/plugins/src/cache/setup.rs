//! `cache [TTL] [ZONES...] { success CAPACITY [TTL [MINTTL]]; denial CAPACITY [TTL [MINTTL]];
//! prefetch AMOUNT [DURATION [PERCENTAGE%]]; serve_stale [DURATION [immediate [TTL [RECHECK]] | verify
//! [TIMEOUT [TTL [RECHECK]]]]]; serve_stale_policy prefer_positive; servfail DURATION;
//! disable success|denial [ZONES...]; keepttl }`

use std::num::IntErrorKind;
use std::sync::Arc;
use std::time::Duration;

use corefile::{Diagnostic, Dispenser, zones_from_args_or_block};
use golang::GoDuration;
use server::{Metadata, Setup};
use wire::NameBuf;

use super::contents::Contents;
use super::options::{Limits, Options, Stale};
use super::{Cache, NAME};

/// RFC 2308 §7.1 and RFC 8767 §5 allow no more.
const MAX_DURATION: Duration = Duration::from_secs(300);

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut options = Options::default();
    let (mut zones, mut label) = (Vec::new(), String::new());
    let mut seen = false;
    while s.c.next() {
        if std::mem::replace(&mut seen, true) {
            return Err(s.once_error());
        }
        let args = s.c.remaining_args();
        let mut args = &args[..];
        // A first argument that is not a number is a zone.
        if let [first, rest @ ..] = args
            && let Ok(ttl) = first.parse::<i64>()
        {
            let ttl = positive_ttl(&s.c, ttl)?;
            (options.success.max, options.denial.max) = (ttl, ttl);
            args = rest;
        }
        zones = s.zones(args);
        label = zones_from_args_or_block(args, s.keys()).join(",");
        block(&mut s.c, &mut options)?;
    }
    // Entries depend on the plugins below and on these options.
    let key = format!("{zones:?} {options:?} {}", s.fingerprint_below());
    let contents = s.kept(&key, || Contents::new(&options));
    server::compact_after_waiting(contents.clone());
    s.add_linked(NAME, move |link| {
        let cache = Arc::new(Cache::new(zones, &label, options, contents, link));
        link.offer::<dyn Metadata>(cache.clone());
        Ok(cache)
    });
    Ok(())
}

fn block(c: &mut Dispenser<'_>, options: &mut Options) -> Result<(), Diagnostic> {
    let (mut has_stale, mut has_policy) = (false, false);
    while c.next_block() {
        match c.val() {
            "success" => limits(c, &mut options.success)?,
            "denial" => limits(c, &mut options.denial)?,
            "prefetch" => prefetch(c, options)?,
            "serve_stale" => {
                has_stale = true;
                let prefer_positive = options.stale.prefer_positive;
                options.stale = Stale { prefer_positive, ..serve_stale(c)? };
            }
            "serve_stale_policy" => {
                if std::mem::replace(&mut has_policy, true) {
                    return Err(c.bare_err("serve_stale_policy can only be specified once"));
                }
                let [policy] = c.remaining_args()[..] else { return Err(c.arg_err()) };
                if policy.to_lowercase() != "prefer_positive" {
                    return Err(c.bare_err(format_args!("invalid serve_stale_policy: {policy}")));
                }
                options.stale.prefer_positive = true;
            }
            "servfail" => {
                let [text] = c.remaining_args()[..] else { return Err(c.arg_err()) };
                options.servfail = duration(c, text, "", "invalid negative ttl for servfail")?;
                if options.servfail > MAX_DURATION {
                    return Err(c.bare_err("caching SERVFAIL responses over 5 minutes is not permitted"));
                }
            }
            "disable" => disable(c, options)?,
            "keepttl" => {
                if !c.remaining_args().is_empty() {
                    return Err(c.arg_err());
                }
                options.keep_ttl = true;
            }
            _ => return Err(c.arg_err()),
        }
    }
    if has_policy && !has_stale {
        return Err(c.bare_err("serve_stale_policy requires serve_stale"));
    }
    Ok(())
}

/// `CAPACITY [TTL [MINTTL]]`; further arguments are ignored.
fn limits(c: &mut Dispenser<'_>, limits: &mut Limits) -> Result<(), Diagnostic> {
    let args = c.remaining_args();
    let Some(capacity) = args.first() else { return Err(c.arg_err()) };
    limits.capacity = number(c, capacity)?;
    if let Some(text) = args.get(1) {
        limits.max = positive_ttl(c, number(c, text)?)?;
    }
    if let Some(text) = args.get(2) {
        let min = number(c, text)?;
        if min < 0 {
            return Err(c.bare_err(format_args!("cache min TTL can not be negative: {min}")));
        }
        limits.min = u32::try_from(min).unwrap_or(u32::MAX);
    }
    Ok(())
}

fn prefetch(c: &mut Dispenser<'_>, options: &mut Options) -> Result<(), Diagnostic> {
    let args = c.remaining_args();
    if args.is_empty() || args.len() > 3 {
        return Err(c.arg_err());
    }
    let amount = number(c, args[0])?;
    options.prefetch.amount = u64::try_from(amount)
        .map_err(|_| c.bare_err(format_args!("prefetch amount should be positive: {amount}")))?;
    if let Some(text) = args.get(1) {
        // A negative duration is accepted; then every pause restarts the count.
        options.prefetch.pause = GoDuration::parse(text).map_err(|error| c.bare_err(error))?.not_negative();
    }
    if let Some(text) = args.get(2) {
        let Some(percentage) = text.strip_suffix('%') else {
            // CoreDNS checks the last octet, and panics on an empty argument.
            let last = text.bytes().last().map_or("''".to_owned(), |last| format!("{:?}", char::from(last)));
            return Err(
                c.bare_err(format_args!("last character of percentage should be `%`, but is: {last}"))
            );
        };
        let percentage = number(c, percentage)?;
        options.prefetch.percentage =
            u32::try_from(percentage).ok().filter(|percentage| (10..=90).contains(percentage)).ok_or_else(
                || c.bare_err(format_args!("percentage should fall in range [10, 90]: {percentage}")),
            )?;
    }
    Ok(())
}

/// `serve_stale`; its policy is a separate option.
fn serve_stale(c: &mut Dispenser<'_>) -> Result<Stale, Diagnostic> {
    let args = c.remaining_args();
    if args.len() > 5 {
        return Err(c.arg_err());
    }
    let mut stale = Stale { max_stale: Duration::from_secs(3600), ..Stale::default() };
    if let Some(text) = args.first() {
        stale.max_stale = duration(c, text, "", "invalid negative duration for serve_stale")?;
    }
    let Some(mode) = args.get(1).map(|mode| mode.to_lowercase()) else { return Ok(stale) };
    let mut rest = &args[2..];
    match mode.as_str() {
        "immediate" if args.len() > 4 => return Err(c.arg_err()),
        "immediate" => {}
        "verify" => {
            stale.verify = Some(Duration::ZERO);
            if let [text, others @ ..] = rest {
                let negative = "invalid negative timeout for serve_stale verify";
                stale.verify = Some(duration(c, text, "invalid serve_stale verify timeout: ", negative)?);
                rest = others;
            }
        }
        _ => return Err(c.bare_err(format_args!("invalid value for serve_stale refresh mode: {mode}"))),
    }
    if let Some(text) = rest.first() {
        stale.ttl = stale_ttl(c, text)?;
    }
    if let Some(text) = rest.get(1) {
        let negative = "invalid negative failure recheck for serve_stale";
        stale.recheck = duration(c, text, "invalid serve_stale failure recheck: ", negative)?;
        if stale.recheck > MAX_DURATION {
            return Err(c.bare_err("serve_stale failure recheck cannot exceed 5 minutes"));
        }
    }
    Ok(stale)
}

fn stale_ttl(c: &Dispenser<'_>, text: &str) -> Result<u32, Diagnostic> {
    let negative = "invalid negative response TTL for serve_stale";
    let ttl = duration(c, text, "invalid serve_stale response TTL: ", negative)?;
    if ttl.subsec_nanos() != 0 {
        return Err(c.bare_err("serve_stale response TTL must be a whole number of seconds"));
    }
    u32::try_from(ttl.as_secs()).map_err(|_| c.bare_err("serve_stale response TTL exceeds the DNS TTL range"))
}

fn disable(c: &mut Dispenser<'_>, options: &mut Options) -> Result<(), Diagnostic> {
    let args = c.remaining_args();
    let Some((which, zones)) = args.split_first() else { return Err(c.arg_err()) };
    let zones = match zones {
        [] => vec![NameBuf::root()],
        // Invalid names match nothing.
        zones => zones.iter().filter_map(|zone| NameBuf::parse(zone).ok()).collect(),
    };
    match *which {
        "success" => options.no_success = zones,
        "denial" => options.no_denial = zones,
        _ => return Err(c.bare_err("cache type for disable must be \"success\" or \"denial\"")),
    }
    Ok(())
}

/// A TTL in seconds.
fn positive_ttl(c: &Dispenser<'_>, ttl: i64) -> Result<u32, Diagnostic> {
    if ttl <= 0 {
        return Err(c.bare_err(format_args!("cache TTL can not be zero or negative: {ttl}")));
    }
    Ok(u32::try_from(ttl).unwrap_or(u32::MAX))
}

/// Parses a number, with the errors of Go's `Atoi`.
fn number(c: &Dispenser<'_>, text: &str) -> Result<i64, Diagnostic> {
    text.parse::<i64>().map_err(|error| {
        let why = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        c.bare_err(format_args!("strconv.Atoi: parsing {}: {why}", golang::quoted(text)))
    })
}

/// Parses a duration of zero or more. `before` prefixes syntax errors.
fn duration(c: &Dispenser<'_>, text: &str, before: &str, negative: &str) -> Result<Duration, Diagnostic> {
    let given = GoDuration::parse(text).map_err(|error| c.bare_err(format_args!("{before}{error}")))?;
    given.not_negative().ok_or_else(|| c.bare_err(negative))
}
