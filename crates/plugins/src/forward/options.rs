//! The options of a `forward` block.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use corefile::{Diagnostic, Dispenser};
use golang::GoDuration;
use server::Setup;
use upstream::DohMethod;
use upstream::rustls::ClientConfig;
use wire::{NameBuf, Rcode};

use super::number::{argument, duration, not_negative, unsigned};
use super::policy::Policy;

const PROPERTIES: &[&str] = &[
    "except",
    "force_tcp",
    "prefer_udp",
    "expire",
    "max_age",
    "max_idle_conns",
    "read_timeout",
    "max_fails",
    "max_connect_attempts",
    "doh_method",
    "tls",
    "tls_servername",
    "policy",
    "health_check",
    "max_concurrent",
    "next",
    "next_on_nodata",
    "failfast_all_unhealthy_upstreams",
    "failover",
    "source_address",
    "resolver",
    "unhealthy_on",
    "mixed_case",
];

pub(super) struct Options {
    pub except: Vec<NameBuf>,
    pub force_tcp: bool,
    pub prefer_udp: bool,
    pub expire: Duration,
    pub max_age: Duration,
    pub max_idle_conns: usize,
    pub read_timeout: Duration,
    pub max_fails: u32,
    pub max_connect_attempts: Option<u32>,
    pub doh_method: DohMethod,
    /// With a fingerprint of its files.
    pub tls: Option<(Arc<ClientConfig>, u64)>,
    pub tls_servername: Option<String>,
    pub policy: Policy,
    pub health: Health,
    pub max_concurrent: u64,
    /// As written in the Corefile, for the error.
    pub max_concurrent_text: String,
    pub next: Vec<Rcode>,
    pub next_on_nodata: bool,
    pub failfast: bool,
    pub failover: Vec<Rcode>,
    pub source_address: Option<IpAddr>,
    pub resolvers: Vec<SocketAddr>,
    pub unhealthy_on_servfail: bool,
    pub mixed_case: bool,
}

pub(super) struct Health {
    pub interval: Duration,
    pub recursion_desired: bool,
    pub domain: NameBuf,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            except: Vec::new(),
            force_tcp: false,
            prefer_udp: false,
            expire: Duration::from_secs(10),
            max_age: Duration::ZERO,
            max_idle_conns: 0,
            read_timeout: Duration::from_secs(2),
            max_fails: 2,
            max_connect_attempts: None,
            doh_method: DohMethod::Post,
            tls: None,
            tls_servername: None,
            policy: Policy::Random,
            health: Health {
                interval: Duration::from_millis(500),
                recursion_desired: true,
                domain: NameBuf::root(),
            },
            max_concurrent: 0,
            max_concurrent_text: String::new(),
            next: Vec::new(),
            next_on_nodata: false,
            failfast: false,
            failover: Vec::new(),
            source_address: None,
            resolvers: Vec::new(),
            unhealthy_on_servfail: false,
            mixed_case: false,
        }
    }
}

impl Options {
    /// Reads the option under the cursor. Extra arguments on its line are read as options of their own.
    pub fn read(&mut self, s: &mut Setup<'_>) -> Result<(), Diagnostic> {
        let c = &mut s.c;
        match c.val() {
            "except" => {
                let zones = arguments(c)?;
                let zones = zones.iter().flat_map(|zone| corefile::normalize_exact(zone));
                self.except.extend(zones.filter_map(|zone| NameBuf::parse(&zone).ok()));
            }
            "max_fails" => self.max_fails = unsigned(c)?,
            "max_connect_attempts" => self.max_connect_attempts = Some(unsigned(c)?),
            "health_check" => self.health.read(c)?,
            "force_tcp" => self.force_tcp = no_argument(c)?,
            "prefer_udp" => self.prefer_udp = no_argument(c)?,
            "tls" => self.tls = Some(tls(s)?),
            "tls_servername" => self.tls_servername = Some(argument(c)?.to_owned()),
            "expire" => self.expire = non_negative_duration(c)?,
            "max_age" => self.max_age = non_negative_duration(c)?,
            "max_idle_conns" => self.max_idle_conns = not_negative(c)? as usize,
            "read_timeout" => {
                let given = duration(c)?;
                self.read_timeout = given
                    .above_zero()
                    .ok_or_else(|| c.bare_err(format_args!("read_timeout must be positive: {given}")))?;
            }
            "doh_method" => {
                self.doh_method = match argument(c)? {
                    "POST" => DohMethod::Post,
                    "GET" => DohMethod::Get,
                    _ => return Err(c.bare_err("doh_method must be either POST or GET")),
                }
            }
            "policy" => {
                self.policy = match argument(c)? {
                    "random" => Policy::Random,
                    "round_robin" => Policy::RoundRobin(AtomicU32::new(0)),
                    "sequential" => Policy::Sequential,
                    other => return Err(c.err(format_args!("unknown policy '{other}'"))),
                }
            }
            "max_concurrent" => {
                self.max_concurrent = not_negative(c)?;
                self.max_concurrent_text = c.val().to_owned();
            }
            "next" => {
                for text in arguments(c)? {
                    self.next.push(rcode(c, text)?);
                }
            }
            "next_on_nodata" => self.next_on_nodata = no_argument(c)?,
            "failfast_all_unhealthy_upstreams" => self.failfast = no_arguments(c)?,
            "failover" => {
                for text in arguments(c)? {
                    match rcode(c, text)? {
                        Rcode::NOERROR => return Err(c.bare_err("NoError cannot be used in failover")),
                        code => self.failover.push(code),
                    }
                }
            }
            "resolver" => {
                let given = arguments(c)?;
                self.resolvers = given.iter().map(|text| resolver(c, text)).collect::<Result<_, _>>()?;
            }
            "source_address" => {
                let text = argument(c)?;
                let ip: IpAddr =
                    text.parse().map_err(|_| c.err(format_args!("invalid IP address: {text}")))?;
                self.source_address = Some(ip.to_canonical());
            }
            "unhealthy_on" => {
                match argument(c)? {
                    text if text.eq_ignore_ascii_case("servfail") => self.unhealthy_on_servfail = true,
                    text => {
                        return Err(c.err(format_args!("unhealthy_on: expected 'servfail', got '{text}'")));
                    }
                };
            }
            "mixed_case" => self.mixed_case = no_argument(c)?,
            _ => return Err(c.unknown_property(PROPERTIES)),
        }
        Ok(())
    }

    /// Checks that need all options.
    pub fn check(&self, c: &Dispenser<'_>) -> Result<(), Diagnostic> {
        if !self.max_age.is_zero() && self.max_age < self.expire {
            let (max_age, expire) = (GoDuration::from(self.max_age), GoDuration::from(self.expire));
            return Err(
                c.bare_err(format_args!("max_age ({max_age}) must not be less than expire ({expire})"))
            );
        }
        Ok(())
    }
}

impl Health {
    fn read(&mut self, c: &mut Dispenser<'_>) -> Result<(), Diagnostic> {
        let given = duration(c)?;
        self.interval = given.not_negative().ok_or_else(|| {
            c.bare_err(format_args!("health_check can't be negative: -{}", given.size.as_nanos()))
        })?;
        self.domain = NameBuf::root();
        while c.next_arg() {
            match c.val() {
                "no_rec" => self.recursion_desired = false,
                "domain" => {
                    let text = argument(c)?;
                    let domain = NameBuf::parse(text).ok().filter(|_| !text.is_empty());
                    self.domain = domain.ok_or_else(|| {
                        c.bare_err(format_args!("health_check: invalid domain name {text}"))
                    })?;
                    self.domain.make_lower();
                }
                other => return Err(c.bare_err(format_args!("health_check: unknown option {other}"))),
            }
        }
        Ok(())
    }
}

/// A switch; the error names the first argument.
fn no_argument(c: &mut Dispenser<'_>) -> Result<bool, Diagnostic> {
    if c.next_arg() { Err(c.arg_err()) } else { Ok(true) }
}

/// The same, but the error names the last argument.
fn no_arguments(c: &mut Dispenser<'_>) -> Result<bool, Diagnostic> {
    if c.remaining_args().is_empty() { Ok(true) } else { Err(c.arg_err()) }
}

fn arguments<'a>(c: &mut Dispenser<'a>) -> Result<Vec<&'a str>, Diagnostic> {
    let args = c.remaining_args();
    if args.is_empty() { Err(c.arg_err()) } else { Ok(args) }
}

fn non_negative_duration(c: &mut Dispenser<'_>) -> Result<Duration, Diagnostic> {
    let option = c.val();
    let given = duration(c)?;
    given.not_negative().ok_or_else(|| c.bare_err(format_args!("{option} can't be negative: {given}")))
}

fn rcode(c: &Dispenser<'_>, text: &str) -> Result<Rcode, Diagnostic> {
    // CoreDNS accepts this spelling too.
    if text.eq_ignore_ascii_case("NOTIMPL") {
        return Ok(Rcode::NOTIMP);
    }
    Rcode::from_mnemonic(text).ok_or_else(|| c.bare_err(format_args!("{text} is not a valid rcode")))
}

fn resolver(c: &Dispenser<'_>, text: &str) -> Result<SocketAddr, Diagnostic> {
    let (host, port) = golang::split_host_port(text).unwrap_or((text, "53"));
    match (host.parse::<IpAddr>(), port.parse()) {
        (Ok(ip), Ok(port)) => Ok(SocketAddr::new(ip.to_canonical(), port)),
        _ => {
            let text = golang::quoted(text);
            Err(c.bare_err(format_args!("resolver must be an IP address or IP:port: {text}")))
        }
    }
}

fn tls(s: &mut Setup<'_>) -> Result<(Arc<ClientConfig>, u64), Diagnostic> {
    let files = s.c.remaining_args();
    if files.len() > 3 {
        return Err(s.c.arg_err());
    }
    let files: Vec<_> = files.iter().map(|file| s.path(file)).collect();
    match upstream::load_tls(&files) {
        Ok((config, print)) => Ok((Arc::new(config), print)),
        Err(error) => Err(s.c.bare_err(error)),
    }
}
