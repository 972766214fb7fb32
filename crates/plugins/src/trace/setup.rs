//! ```text
//! trace [zipkin|otlp] [ENDPOINT] {
//!     every AMOUNT
//!     service NAME
//!     client_server
//!     datadog_analytics_rate RATE
//!     zipkin_max_backlog_size SIZE
//!     zipkin_max_batch_size SIZE
//!     zipkin_max_batch_interval DURATION
//! }
//! ```

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use corefile::{Diagnostic, Dispenser};
use golang::GoDuration;
use observe::trace::{Exporter, Protocol, Settings, Url};
use server::{Lifecycle, Metadata, Setup};

use super::{NAME, Trace};

const PROPERTIES: &[&str] = &[
    "every",
    "service",
    "client_server",
    "datadog_analytics_rate",
    "zipkin_max_backlog_size",
    "zipkin_max_batch_size",
    "zipkin_max_batch_interval",
];
/// The defaults of Zipkin's library.
const DEFAULT_BACKLOG: usize = 1000;
const DEFAULT_BATCH: usize = 100;
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// Zipkin's Go library ticks ten times per interval, and a ticker of 0 panics.
const MIN_INTERVAL: Duration = Duration::from_nanos(10);

pub(crate) fn setup(s: &mut Setup<'_>) -> Result<(), Diagnostic> {
    let listens_on = listens_on(s);
    let mut options = Options::default();
    while s.c.next() {
        // The last endpoint counts; options of earlier lines still apply, as in CoreDNS.
        let args = s.c.remaining_args();
        options.endpoint = match args[..] {
            [] => endpoint("zipkin", "").map_err(|error| s.c.bare_err(error))?,
            [address] => endpoint("zipkin", address).map_err(|error| s.c.bare_err(error))?,
            [kind, address] => {
                endpoint(&kind.to_lowercase(), address).map_err(|error| s.c.bare_err(error))?
            }
            _ => return Err(s.c.arg_err()),
        };
        while s.c.next_block() {
            options.read(&mut s.c)?;
        }
    }
    let Some((protocol, url)) = options.endpoint else { return Err(s.c.arg_err()) };
    let settings = Settings {
        protocol,
        url,
        service: options.service,
        listens_on,
        backlog: options.backlog,
        batch: options.batch,
        interval: options.interval,
    };
    // Blocks with the same settings, and the next configuration, share the connection.
    let exporter = s.kept(&format!("{NAME} {settings:?}"), || Exporter::new(settings));
    s.settings().traced = true;
    let trace = s.add(Trace { exporter, protocol, every: options.every, queries: AtomicU64::new(0) });
    s.offer::<dyn Metadata>(trace.clone());
    s.offer::<dyn Lifecycle>(trace);
    Ok(())
}

/// The first address of `bind`, if there is one.
fn listens_on(s: &Setup<'_>) -> Option<SocketAddr> {
    let ip: IpAddr = s.hosts().first()?.parse().ok()?;
    let port = s.keys().first()?.port.parse().ok()?;
    Some(SocketAddr::new(ip, port))
}

fn endpoint(kind: &str, address: &str) -> Result<Option<(Protocol, Url)>, String> {
    let (protocol, default, path) = match kind {
        "zipkin" => (Protocol::Zipkin, "localhost:9411", "/api/v2/spans"),
        "otlp" => (Protocol::Otlp, "localhost:4318", "/v1/traces"),
        "datadog" => {
            let instead = "the Datadog Agent accepts OTLP: use `trace otlp HOST:4318`";
            return Err(format!("tracing endpoint type 'datadog' is not part of Rhumb; {instead}"));
        }
        _ => return Err(format!("tracing endpoint type '{kind}' is not supported")),
    };
    let address = if address.is_empty() { default } else { address };
    let url = match Url::parse(address) {
        Some(mut url) => {
            // An OTLP endpoint without a path gets OTLP's default path.
            if protocol == Protocol::Otlp && url.path() == "/" {
                url.set_path(path);
            }
            Some(url)
        }
        None => Url::parse(&format!("http://{address}{path}")),
    };
    Ok(url.map(|url| (protocol, url)))
}

struct Options {
    endpoint: Option<(Protocol, Url)>,
    every: u64,
    service: String,
    backlog: usize,
    batch: usize,
    interval: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            endpoint: None,
            every: 1,
            service: "coredns".to_owned(),
            backlog: DEFAULT_BACKLOG,
            batch: DEFAULT_BATCH,
            interval: DEFAULT_INTERVAL,
        }
    }
}

impl Options {
    fn read(&mut self, c: &mut Dispenser<'_>) -> Result<(), Diagnostic> {
        match c.val() {
            "every" => {
                let text = one_arg(c)?;
                self.every =
                    golang::parse_uint(text.as_bytes(), 10, 64).map_err(|error| c.bare_err(error))?;
            }
            "service" => self.service = one_arg(c)?.to_owned(),
            // Ignored: it joins spans of clients, which queries over UDP and TCP do not carry.
            "client_server" => {
                if let Some(text) = optional_arg(c)? {
                    golang::parse_bool(text).map_err(|error| c.bare_err(error))?;
                }
            }
            "datadog_analytics_rate" => rate(c)?,
            "zipkin_max_backlog_size" => self.backlog = size(c, DEFAULT_BACKLOG)?,
            "zipkin_max_batch_size" => self.batch = size(c, DEFAULT_BATCH)?,
            "zipkin_max_batch_interval" => self.interval = interval(c)?,
            _ => return Err(c.unknown_property(PROPERTIES)),
        }
        Ok(())
    }
}

fn one_arg<'a>(c: &mut Dispenser<'a>) -> Result<&'a str, Diagnostic> {
    match c.remaining_args()[..] {
        [text] => Ok(text),
        _ => Err(c.arg_err()),
    }
}

fn optional_arg<'a>(c: &mut Dispenser<'a>) -> Result<Option<&'a str>, Diagnostic> {
    match c.remaining_args()[..] {
        [] => Ok(None),
        [text] => Ok(Some(text)),
        _ => Err(c.arg_err()),
    }
}

/// Validated, but without effect: Rhumb does not support Datadog's protocol.
fn rate(c: &mut Dispenser<'_>) -> Result<(), Diagnostic> {
    let Some(text) = optional_arg(c)? else { return Ok(()) };
    let rate = golang::parse_float(text).map_err(|error| c.bare_err(error))?;
    // CoreDNS's comparison accepts NaN.
    if !rate.is_nan() && !(0.0..=1.0).contains(&rate) {
        return Err(c.bare_err(format_args!(
            "datadog analytics rate must be between 0 and 1, '{rate:.6}' is not supported"
        )));
    }
    Ok(())
}

/// Zero and negative values mean the default.
fn size(c: &mut Dispenser<'_>, default: usize) -> Result<usize, Diagnostic> {
    let text = one_arg(c)?;
    let size = golang::atoi(text).map_err(|error| c.bare_err(error))?;
    Ok(usize::try_from(size).ok().filter(|size| *size > 0).unwrap_or(default))
}

fn interval(c: &mut Dispenser<'_>) -> Result<Duration, Diagnostic> {
    let text = one_arg(c)?;
    let interval = GoDuration::parse(text).map_err(|error| c.bare_err(error))?;
    match interval.not_negative() {
        Some(Duration::ZERO) => Ok(DEFAULT_INTERVAL),
        Some(interval) if interval >= MIN_INTERVAL => Ok(interval),
        _ => Err(c.bare_err(format_args!("zipkin_max_batch_interval must be at least 10ns: {text}"))),
    }
}
