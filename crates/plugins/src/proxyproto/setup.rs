//! ```text
//! proxyproto {
//!     allow CIDR...
//!     default use|ignore|reject|skip
//!     udp_session_tracking DURATION [MAX_SESSIONS]
//!     tlv_metadata
//! }
//! ```

use std::net::IpAddr;
use std::sync::Arc;

use corefile::reverse::Prefix;
use corefile::{Diagnostic, Dispenser};
use golang::{GoDuration, atoi, quoted};
use server::{Metadata, ProxyPolicy, ProxyProtocol, SessionLimits, Setup};

use super::ProxyProto;
use crate::acl::Sources;

/// Per socket.
const DEFAULT_MAX_SESSIONS: usize = 10_240;

#[derive(Default)]
struct Options {
    allowed: Vec<Prefix>,
    default: Option<ProxyPolicy>,
    sessions: Option<SessionLimits>,
    tlvs: bool,
}

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let mut options = Options::default();
    while s.c.next() {
        if !s.c.remaining_args().is_empty() {
            return Err(s.c.arg_err());
        }
        while s.c.next_block() {
            options.read(&mut s.c)?;
        }
    }
    if options.tlvs {
        let plugin = s.add(ProxyProto);
        s.offer::<dyn Metadata>(plugin);
    }
    s.settings().proxy_protocol = Some(options.proxied());
    Ok(())
}

impl Options {
    fn read(&mut self, c: &mut Dispenser<'_>) -> Result<(), Diagnostic> {
        match c.val() {
            "allow" => {
                for word in c.remaining_args() {
                    let network = Prefix::parse(word);
                    self.allowed.push(
                        network.ok_or_else(|| {
                            c.bare_err(format_args!("{word}: invalid CIDR address: {word}"))
                        })?,
                    );
                }
            }
            "default" => {
                let [word] = c.remaining_args()[..] else { return Err(c.arg_err()) };
                self.default = Some(match word.to_lowercase().as_str() {
                    "use" => ProxyPolicy::Use,
                    "ignore" => ProxyPolicy::Ignore,
                    "reject" => ProxyPolicy::Reject,
                    "skip" => ProxyPolicy::Skip,
                    _ => return Err(c.arg_err()),
                });
            }
            "udp_session_tracking" => self.sessions = sessions(c)?,
            "tlv_metadata" => {
                if !c.remaining_args().is_empty() {
                    return Err(c.arg_err());
                }
                self.tlvs = true;
            }
            other => return Err(c.err(format_args!("unknown option '{other}'")).unnamed()),
        }
        Ok(())
    }

    fn proxied(self) -> ProxyProtocol {
        let Options { allowed, default, sessions, tlvs } = self;
        let allow_all = allowed.is_empty();
        let allowed = Sources::new(&allowed);
        // Without `allow` every sender counts as other; then the default is to use its headers.
        let others = default.unwrap_or(if allow_all { ProxyPolicy::Use } else { ProxyPolicy::Ignore });
        let policy = move |sender: IpAddr| if allowed.contains(sender) { ProxyPolicy::Use } else { others };
        ProxyProtocol { policy: Arc::new(policy), sessions, tlvs }
    }
}

/// A duration of zero or less disables session tracking.
fn sessions(c: &mut Dispenser<'_>) -> Result<Option<SessionLimits>, Diagnostic> {
    let (time, count) = match c.remaining_args()[..] {
        [time] => (time, None),
        [time, count] => (time, Some(count)),
        _ => return Err(c.arg_err()),
    };
    let invalid = |argument, word, error: &dyn std::fmt::Display| {
        c.bare_err(format_args!("udp_session_tracking: invalid {argument} {}: {error}", quoted(word)))
    };
    let time = GoDuration::parse(time).map_err(|error| invalid("duration", time, &error))?;
    let count = match count {
        None => DEFAULT_MAX_SESSIONS,
        Some(word) => {
            let count = atoi(word).ok().and_then(|count| usize::try_from(count).ok());
            let count = count.filter(|count| *count > 0);
            count.ok_or_else(|| invalid("max sessions", word, &"must be a positive integer"))?
        }
    };
    Ok(time.above_zero().map(|time| SessionLimits { time, count }))
}
