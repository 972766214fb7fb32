//! ```text
//! dnstap [listen] SOCKET [full] [WRITEBUFFER] [QUEUE] {
//!     identity IDENTITY
//!     version VERSION
//!     extra EXTRA
//!     skipverify
//!     tls CERT KEY [CA]
//! }
//! ```

use std::path::PathBuf;

use corefile::{Diagnostic, Dispenser};
use golang::quoted;
use observe::dnstap::{ConnectMode, Dial, Endpoint, Listen, Output, TlsFiles, head};
use server::{Lifecycle, Setup, Tap};

use super::extra::Extra;
use super::{Dnstap, NAME};
use crate::host_files::hostname::hostname;

const VERSION: &str = concat!("Rhumb-", env!("CARGO_PKG_VERSION"));
const PROPERTIES: &[&str] = &["identity", "version", "extra", "skipverify", "tls"];
const MIB: usize = 1 << 20;

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut taps = Vec::new();
    while s.c.next() {
        taps.push(read(s)?);
    }
    for tap in taps {
        let tap = s.add(tap);
        s.offer::<dyn Tap>(tap.clone());
        s.offer::<dyn Lifecycle>(tap);
    }
    Ok(())
}

/// Parses one `dnstap` line and its block.
fn read(s: &mut Setup<'_>) -> Result<Dnstap, Diagnostic> {
    let args = s.c.remaining_args();
    let (listens, args) = match args[..] {
        [] => return Err(s.c.arg_err()),
        ["listen"] => return Err(s.c.err("dnstap listen requires an endpoint argument")),
        ["listen", ref rest @ ..] => (true, rest),
        ref all => (false, all),
    };
    let buffer = number(&s.c, args.get(2), "MultipleTcpWriteBuf", 1024, "MiB units")?;
    let queue = number(&s.c, args.get(3), "MultipleQueue", 4096, "x10k messages")?;
    let endpoint = endpoint(args[0]).ok_or_else(|| s.c.arg_err())?;
    let options = Options::read(&mut s.c, listens)?;
    let way = if listens {
        ConnectMode::Listen(Listen { endpoint, tls: options.tls, skip_verify: options.skip_verify })
    } else {
        ConnectMode::Dial(Dial { endpoint, skip_verify: options.skip_verify, write_buffer: buffer * MIB })
    };
    // Blocks with the same settings, and the next configuration, share the connection.
    let output = s.kept(&format!("{NAME} {way:?} {queue}"), || Output::new(way, queue));
    Ok(Dnstap {
        output,
        socket: args[0].to_owned(),
        full: args.get(1) == Some(&"full"),
        head: head(options.identity.as_bytes(), options.version.as_bytes()),
        extra: options.extra,
    })
}

/// A multiple from 1 to `max`; by default 1.
fn number(
    c: &Dispenser<'_>,
    text: Option<&&str>,
    option: &str,
    max: usize,
    unit: &str,
) -> Result<usize, Diagnostic> {
    let Some(text) = text else { return Ok(1) };
    let value = golang::atoi(text)
        .map_err(|error| c.err(format_args!("dnstap: invalid {option} {}: {error}", quoted(text))))?;
    match usize::try_from(value) {
        Ok(valid @ 1..) if valid <= max => Ok(valid),
        _ => Err(c.err(format_args!("dnstap: {option} must be between 1 and {max} ({unit}): {value}"))),
    }
}

/// None for a URL that Go's library does not parse.
pub(super) fn endpoint(text: &str) -> Option<Endpoint> {
    if let Some(rest) = text.strip_prefix("tls://") {
        return Some(Endpoint::Tls(host(rest)?));
    }
    if let Some(rest) = text.strip_prefix("tcp://") {
        return Some(Endpoint::Tcp(host(rest)?));
    }
    Some(Endpoint::Unix(PathBuf::from(text.strip_prefix("unix://").unwrap_or(text))))
}

/// `HOST:PORT` of a URL without its scheme.
fn host(rest: &str) -> Option<String> {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let port = match host.rsplit_once(']') {
        Some((_, after)) if host.starts_with('[') => after,
        _ if host.starts_with('[') => return None,
        _ => host.find(':').map_or("", |colon| &host[colon..]),
    };
    let port_valid = port.is_empty() || port[1..].bytes().all(|byte| byte.is_ascii_digit());
    let is_invalid = |byte: u8| byte.is_ascii_control() || b" %<>\"\\^`{|}".contains(&byte);
    let valid = port_valid && (port.is_empty() || port.starts_with(':')) && !host.bytes().any(is_invalid);
    valid.then(|| host.to_owned())
}

struct Options {
    identity: String,
    version: String,
    extra: Option<Extra>,
    skip_verify: bool,
    tls: Option<TlsFiles>,
}

impl Options {
    fn read(c: &mut Dispenser<'_>, listens: bool) -> Result<Options, Diagnostic> {
        let mut options = Options {
            identity: hostname(),
            version: VERSION.to_owned(),
            extra: None,
            skip_verify: false,
            tls: None,
        };
        while c.next_block() {
            match c.val() {
                "skipverify" => options.skip_verify = true,
                "tls" => options.tls = Some(identity(c, listens)?),
                "identity" => options.identity = value(c)?.to_owned(),
                "version" => options.version = value(c)?.to_owned(),
                "extra" => options.extra = Some(value(c)?).filter(|text| !text.is_empty()).map(Extra::parse),
                _ => return Err(c.unknown_property(PROPERTIES)),
            }
        }
        Ok(options)
    }
}

/// The first argument. Further words on the line are parsed as the next option, as in CoreDNS.
fn value<'a>(c: &mut Dispenser<'a>) -> Result<&'a str, Diagnostic> {
    if c.next_arg() { Ok(c.val()) } else { Err(c.arg_err()) }
}

fn identity(c: &mut Dispenser<'_>, listens: bool) -> Result<TlsFiles, Diagnostic> {
    if !listens {
        return Err(c.err("tls directive only valid for listeners"));
    }
    match c.remaining_args()[..] {
        [certificate, key, ref rest @ ..] => Ok(TlsFiles {
            certificate: certificate.into(),
            key: key.into(),
            client_ca: rest.first().map(PathBuf::from),
        }),
        _ => Err(c.err("tls requires cert and key file paths")),
    }
}
