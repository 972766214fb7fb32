//! One address that answers queries: its pools, its health, its numbers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use wire::Rcode;

use crate::dial::DialTime;
use crate::health::{self, Prober};
use crate::here::{self, Gate, Landed};
use crate::https::Https;
use crate::measure::{Measure, Proto};
use crate::pool::{Lease, Limits, Pool};
use crate::question::Question;
use crate::stream::{self, Connection, Encryption};
use crate::{DohMethod, Error, Network, Options, Scheme, tls, udp};

const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

pub struct Upstream {
    options: Options,
    label: String,
    udp: Arc<Pool<UdpSocket>>,
    gate: Arc<Gate>,
    streams: Arc<Pool<Connection>>,
    encryption: Option<Encryption>,
    https: Option<Arc<Https>>,
    dial_time: DialTime,
    prober: Prober,
    measure: Measure,
}

/// What an upstream said.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The whole reply under the id of the query.
    pub message: Vec<u8>,
    /// How it came.
    pub network: Network,
    /// Our own address on the way there.
    pub local: Option<SocketAddr>,
}

/// An answer, and its code for the metrics.
pub(crate) struct Heard {
    pub(crate) answer: Answer,
    pub(crate) rcode: Rcode,
}

impl Upstream {
    pub fn new(options: Options) -> Arc<Upstream> {
        let limits = |max_uses| Limits {
            expire: options.expire,
            max_age: options.max_age,
            max_uses,
            max_idle: options.max_idle,
        };
        let label = options.addr.to_string();
        let encryption = encryption(&options);
        let https = match (options.scheme, &encryption) {
            (Scheme::Https, Some(encryption)) => {
                Some(Https::new(&options, encryption.clone(), limits(u32::MAX)))
            }
            _ => None,
        };
        Arc::new(Upstream {
            udp: Pool::new(limits(udp::MAX_USES)),
            gate: Arc::default(),
            streams: Pool::new(limits(u32::MAX)),
            encryption,
            https,
            dial_time: DialTime::new(),
            prober: Prober::default(),
            measure: Measure::new(options.proxy_name, &label),
            label,
            options,
        })
    }

    /// `127.0.0.1:53`: the label `to` and what metadata calls the upstream.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Asks once. `packet` is a whole query with any id; the answer has its id put back to that one. `udp_size` is
    /// what the client can take over UDP; a longer reply comes back empty and truncated.
    pub async fn exchange(&self, packet: &[u8], network: Network, udp_size: u16) -> Result<Answer, Error> {
        self.exchange_by(packet, network, udp_size, None).await
    }

    /// The same, where connecting over TCP or TLS ends at `connect_by` even if dials may take longer. What follows
    /// has limits of its own: two seconds to write and `read_timeout` to read. HTTPS does all within `read_timeout`.
    pub async fn exchange_by(
        &self,
        packet: &[u8],
        network: Network,
        udp_size: u16,
        connect_by: Option<Instant>,
    ) -> Result<Answer, Error> {
        let start = Instant::now();
        let heard = match (self.options.scheme, network) {
            (Scheme::Dns, Network::Udp) => self.over_udp(&self.question(packet)?, udp_size).await,
            // Boxed, since a query that waits for UDP need not have room for a handshake.
            (Scheme::Dns, Network::Tcp) => {
                Box::pin(self.over_stream(&self.question(packet)?, Proto::Tcp, connect_by)).await
            }
            (Scheme::Tls, _) => {
                Box::pin(self.over_stream(&self.question(packet)?, Proto::Tls, connect_by)).await
            }
            (Scheme::Https, _) => {
                let options = &self.options;
                Box::pin(self.over_https(packet, options.doh_method, options.read_timeout)).await
            }
        }?;
        self.measure.answered(heard.rcode, start.elapsed());
        Ok(heard.answer)
    }

    /// Whether more than `max_fails` probes in a row failed; 0 takes every upstream for good.
    pub fn is_down(&self, max_fails: u32) -> bool {
        self.prober.is_down(max_fails)
    }

    /// Probes in the background, unless that goes on already, until the first reply of any kind. Must be called
    /// on a runtime.
    pub fn check_health(self: &Arc<Self>) {
        health::start(self);
    }

    /// Ends probing for good and closes idle sockets. Queries that still come, from a configuration that is on
    /// its way out, are sent over sockets of their own.
    pub fn stop(&self) {
        self.prober.stop();
        self.gate.stop();
        self.udp.close();
        self.streams.close();
        if let Some(https) = &self.https {
            https.close();
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn prober(&self) -> &Prober {
        &self.prober
    }

    pub(crate) fn measure(&self) -> &Measure {
        &self.measure
    }

    fn question<'a>(&self, packet: &'a [u8]) -> Result<Question<'a>, Error> {
        Question::new(packet, self.options.mixed_case)
    }

    async fn over_udp(&self, question: &Question<'_>, size: u16) -> Result<Heard, Error> {
        match self.over_udp_here(question, size).await {
            Some(heard) => heard,
            None => Box::pin(self.over_pooled_udp(question, size)).await,
        }
    }

    /// On the thread of a worker, over sockets of that thread.
    async fn over_udp_here(&self, question: &Question<'_>, size: u16) -> Option<Result<Heard, Error>> {
        let Options { addr, source, read_timeout, .. } = self.options;
        let to = here::To { gate: &self.gate, addr, source, limits: self.udp.limits(), read_timeout };
        let taken = match here::ask(&to, question.packet(), udp::room(size))? {
            Ok(taken) => taken,
            Err(error) => {
                self.measure.miss(Proto::Udp);
                return Some(Err(error));
            }
        };
        match taken.dialed {
            None => self.measure.hit(Proto::Udp),
            Some(took) => {
                self.measure.miss(Proto::Udp);
                self.dial_time.observe(took);
            }
        }
        match taken.waiting.await {
            Landed::Packet(mut bytes, way) => {
                let heard = udp::hear(&mut bytes, way.local, question, udp::room(size));
                if !matches!(heard, Some(Ok(_))) {
                    here::distrust(way);
                }
                heard
            }
            Landed::Failed(op, cause, way) => {
                Some(Err(Error::Net { op, network: Network::Udp, from: way.local, to: addr, cause }))
            }
            Landed::Elsewhere => None,
        }
    }

    async fn over_pooled_udp(&self, question: &Question<'_>, size: u16) -> Result<Heard, Error> {
        let lease = match self.udp.take() {
            Some(lease) => {
                self.measure.hit(Proto::Udp);
                lease
            }
            None => {
                self.measure.miss(Proto::Udp);
                let start = Instant::now();
                let socket = udp::open_async(self.options.addr, self.options.source);
                self.dial_time.observe(start.elapsed());
                Lease::new(socket?)
            }
        };
        let to = self.options.addr;
        let answer =
            udp::exchange(&lease.socket, to, question, size, WRITE_TIMEOUT, self.options.read_timeout)
                .await?;
        self.udp.give(lease);
        Ok(answer)
    }

    async fn over_stream(
        &self,
        question: &Question<'_>,
        proto: Proto,
        connect_by: Option<Instant>,
    ) -> Result<Heard, Error> {
        if let Some(mut lease) = self.streams.take() {
            self.measure.hit(proto);
            match lease.socket.exchange(question, WRITE_TIMEOUT, self.options.read_timeout).await {
                Ok(heard) => {
                    self.streams.give(lease);
                    return Ok(heard);
                }
                // The peer may close an idle connection at any time; the query has not been seen.
                Err(failure) if failure.unanswered => {}
                Err(failure) => return Err(failure.error),
            }
        }
        self.measure.miss(proto);
        let start = Instant::now();
        let usual = self.dial_time.timeout();
        let limit = connect_by.map_or(usual, |end| usual.min(end.saturating_duration_since(start)));
        let dialed = stream::dial(&self.options, self.encryption.as_ref(), limit).await;
        self.dial_time.observe(start.elapsed());
        let mut lease = Lease::new(dialed?);
        match lease.socket.exchange(question, WRITE_TIMEOUT, self.options.read_timeout).await {
            Ok(heard) => {
                self.streams.give(lease);
                Ok(heard)
            }
            Err(failure) => Err(failure.error),
        }
    }

    /// Everything about it is encrypted and belongs to one request, so its id is zero, which caches like.
    async fn over_https(&self, packet: &[u8], method: DohMethod, limit: Duration) -> Result<Heard, Error> {
        let Some(https) = &self.https else { return Err(Error::Tls("no configuration".into())) };
        let question = Question::with_id(packet, 0)?;
        https.exchange(&self.options, &question, method, limit).await
    }

    /// One probe, over a socket of its own: a pool of dead connections must not hide that the upstream is back.
    /// Whatever says anything about the probe is alive.
    pub(crate) async fn probe(&self) -> bool {
        let packet = health::query(self);
        let Ok(question) = Question::new(&packet, false) else { return false };
        let options = &self.options;
        let result = match options.scheme {
            Scheme::Dns if !options.health.tcp => match udp::open_async(options.addr, options.source) {
                Err(error) => Err(error),
                Ok(socket) => {
                    let (write, read) = (health::TIMEOUT, health::TIMEOUT);
                    udp::exchange(&socket, options.addr, &question, 512, write, read).await
                }
            },
            Scheme::Dns | Scheme::Tls => {
                match stream::dial(options, self.encryption.as_ref(), health::DIAL_TIMEOUT).await {
                    Err(error) => Err(error),
                    Ok(mut connection) => connection
                        .exchange(&question, health::TIMEOUT, health::TIMEOUT)
                        .await
                        .map_err(|failure| failure.error),
                }
            }
            Scheme::Https => self.over_https(&packet, DohMethod::Post, health::TIMEOUT).await,
        };
        matches!(result, Ok(_) | Err(Error::WrongQuestion | Error::Malformed))
    }
}

/// TLS for the schemes that have it. Reads the system's roots if nothing else is configured, which is slow
/// enough to be done once.
fn encryption(options: &Options) -> Option<Encryption> {
    if options.scheme == Scheme::Dns {
        return None;
    }
    let config = match &options.tls {
        Some(config) => Arc::clone(config),
        None => Arc::new(tls::tls_config(&[]).ok()?),
    };
    Some(Encryption { config, name: tls::server_name(options.server_name.as_deref(), options.addr) })
}
