//! One upstream address: its pools, health and metrics.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::dial::{Dialer, Encryption};
use crate::dial_time::DialTime;
use crate::error::{Cause, Op};
use crate::health::{self, Prober};
use crate::https::Https;
use crate::measure::{Measure, Proto};
use crate::policy::{self, AcceptedAnswer, Question};
use crate::pool::{Lease, Limits, Pool};
use crate::session::{MessageLimits, Messages, Session};
use crate::udp::{self, Target, UdpReply, UdpState};
use crate::{DohMethod, Error, Network, Options, Scheme, tls};

const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

pub struct Upstream {
    options: Options,
    label: String,
    udp: Arc<UdpState>,
    udp_limits: Limits,
    sessions: Arc<Pool<Session>>,
    /// None if there is no TLS configuration.
    dialer: Option<Dialer>,
    https: Option<Arc<Https>>,
    dial_time: DialTime,
    prober: Prober,
    measure: Measure,
}

/// The answer of an upstream.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The whole reply, with the id of the caller's query.
    pub message: Vec<u8>,
    /// The network it arrived over.
    pub network: Network,
    /// The local address of the socket.
    pub local: Option<SocketAddr>,
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
            udp: Arc::default(),
            udp_limits: limits(udp::MAX_USES),
            sessions: Pool::new(limits(u32::MAX)),
            dialer: dialer(&options, encryption),
            https,
            dial_time: DialTime::new(),
            prober: Prober::default(),
            measure: Measure::new(options.proxy_name, &label),
            label,
            options,
        })
    }

    /// `127.0.0.1:53`: the metrics label `to` and the metadata value.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Sends one query, without retries. `packet` is a whole query with any id; the answer has the same id. `udp_size`
    /// is the client's UDP payload size; a longer reply is returned empty and truncated.
    pub async fn exchange(&self, packet: &[u8], network: Network, udp_size: u16) -> Result<Answer, Error> {
        self.exchange_by(packet, network, udp_size, None).await
    }

    /// The same with a deadline for connecting over TCP or TLS. After that the limits are two seconds to write and
    /// `read_timeout` to read. HTTPS does everything within `read_timeout`.
    pub async fn exchange_by(
        &self,
        packet: &[u8],
        network: Network,
        udp_size: u16,
        connect_by: Option<Instant>,
    ) -> Result<Answer, Error> {
        let start = Instant::now();
        let reply = match (self.options.scheme, network) {
            (Scheme::Dns, Network::Udp) => self.over_udp(&self.question(packet)?, udp_size).await,
            // Boxed, so that the future of a UDP query does not contain a handshake.
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
        self.measure.answered(reply.rcode, start.elapsed());
        Ok(reply.answer)
    }

    /// Whether more than `max_fails` probes in a row failed; with 0 an upstream is never down.
    pub fn is_down(&self, max_fails: u32) -> bool {
        self.prober.is_down(max_fails)
    }

    /// Starts probing in the background, unless it already runs, until the first reply of any kind. Must be called on a
    /// tokio runtime.
    pub fn check_health(self: &Arc<Self>) {
        health::start(self);
    }

    /// Stops probing for good and closes idle sockets. Later queries, from a configuration that is being replaced, each
    /// use a new socket.
    pub fn stop(&self) {
        self.prober.stop();
        self.udp.stop();
        self.sessions.close();
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

    async fn over_udp(&self, question: &Question<'_>, size: u16) -> Result<AcceptedAnswer, Error> {
        let limit = policy::datagram_limit(size);
        match self.over_worker_udp(question, limit).await {
            Some(reply) => reply,
            // Boxed, so that the future of a worker's query does not contain it.
            None => {
                let target = self.udp_target(self.options.read_timeout, self.udp.is_stopped());
                Box::pin(self.over_udp_thread(&target, question, limit)).await
            }
        }
    }

    fn udp_target(&self, read_timeout: Duration, own_socket: bool) -> Target<'_> {
        let endpoint = self.options.endpoint();
        Target { state: &self.udp, endpoint, limits: self.udp_limits, read_timeout, own_socket }
    }

    /// Over sockets of the worker's own thread. None if that is not possible.
    async fn over_worker_udp(
        &self,
        question: &Question<'_>,
        limit: usize,
    ) -> Option<Result<AcceptedAnswer, Error>> {
        let target = self.udp_target(self.options.read_timeout, false);
        let sent = match udp::send(&target, question.packet(), limit)? {
            Ok(sent) => sent,
            Err(error) => {
                self.measure.miss(Proto::Udp);
                return Some(Err(error));
            }
        };
        self.count_udp(sent.dialed);
        self.check_udp(sent.reply.await, question, limit, udp::retire)
    }

    /// Over sockets of the UDP thread, for tasks of tokio.
    async fn over_udp_thread(
        &self,
        target: &Target<'_>,
        question: &Question<'_>,
        limit: usize,
    ) -> Result<AcceptedAnswer, Error> {
        // A socket that failed before it sent the query is closed; the next one is new.
        for _ in 0..2 {
            let finished = udp::thread::exchange(target, question.packet()).await.inspect_err(|_| {
                self.measure.miss(Proto::Udp);
            })?;
            self.count_udp(finished.dialed);
            if let Some(reply) = self.check_udp(finished.reply, question, limit, udp::thread::retire) {
                return reply;
            }
        }
        let cause = Cause::System("write", "no buffer space available".into());
        let to = target.endpoint.addr;
        Err(Error::Net { op: Op::Write, network: Network::Udp, from: None, to, cause })
    }

    fn count_udp(&self, dialed: Option<Duration>) {
        match dialed {
            None => self.measure.hit(Proto::Udp),
            Some(took) => {
                self.measure.miss(Proto::Udp);
                self.dial_time.observe(took);
            }
        }
    }

    /// None if the query could not be completed on its thread.
    fn check_udp(
        &self,
        reply: UdpReply,
        question: &Question<'_>,
        limit: usize,
        retire: impl FnOnce(udp::SocketRef),
    ) -> Option<Result<AcceptedAnswer, Error>> {
        match reply {
            UdpReply::Packet(message, socket) => {
                let answer = Answer { message, network: Network::Udp, local: socket.local };
                let reply = policy::check(question, answer, limit);
                if !matches!(reply, Some(Ok(_))) {
                    retire(socket);
                }
                reply
            }
            UdpReply::Failed(op, cause, socket) => {
                let (from, to) = (socket.local, self.options.addr);
                Some(Err(Error::Net { op, network: Network::Udp, from, to, cause }))
            }
            UdpReply::Unavailable => None,
        }
    }

    async fn over_stream(
        &self,
        question: &Question<'_>,
        proto: Proto,
        connect_by: Option<Instant>,
    ) -> Result<AcceptedAnswer, Error> {
        if let Some(mut lease) = self.sessions.take() {
            self.measure.hit(proto);
            match ask(&mut lease.socket, question).await {
                Ok(reply) => {
                    self.sessions.put(lease);
                    return Ok(reply);
                }
                // The upstream may close an idle connection at any time; it has not seen the query.
                Err(_) if lease.socket.is_unanswered() => {}
                Err(error) => return Err(error),
            }
        }
        self.measure.miss(proto);
        let start = Instant::now();
        let usual = self.dial_time.timeout();
        let limit = connect_by.map_or(usual, |end| usual.min(end.saturating_duration_since(start)));
        let dialed = self.dial(limit, WRITE_TIMEOUT, self.options.read_timeout).await;
        self.dial_time.observe(start.elapsed());
        let mut lease = Lease::new(dialed?);
        let reply = ask(&mut lease.socket, question).await?;
        self.sessions.put(lease);
        Ok(reply)
    }

    async fn dial(&self, limit: Duration, write: Duration, read: Duration) -> Result<Session, Error> {
        let dialer = self.dialer.as_ref().ok_or_else(no_tls)?;
        Ok(Session::new(dialer.dial(limit).await?, MessageLimits::new(write, read)))
    }

    /// With the id 0, which HTTP caches need (RFC 8484 §4.1): encryption protects against forged replies.
    async fn over_https(
        &self,
        packet: &[u8],
        method: DohMethod,
        limit: Duration,
    ) -> Result<AcceptedAnswer, Error> {
        let https = self.https.as_ref().ok_or_else(no_tls)?;
        let question = Question::with_id(packet, 0)?;
        let answer = https.exchange(question.packet(), method, limit).await?;
        policy::check(&question, answer, usize::MAX).unwrap_or(Err(Error::Malformed))
    }

    /// Sends one probe over a new socket: a pool of dead connections must not hide that the upstream is back. Any reply
    /// counts, also an invalid one.
    pub(crate) async fn probe(&self) -> bool {
        let packet = health::query(self);
        let Ok(question) = Question::new(&packet, false) else { return false };
        let options = &self.options;
        let result = match options.scheme {
            Scheme::Dns if !options.health.tcp => {
                let target = self.udp_target(health::TIMEOUT, true);
                return udp::thread::exchange(&target, question.packet())
                    .await
                    .is_ok_and(|finished| matches!(finished.reply, UdpReply::Packet(..)));
            }
            Scheme::Dns | Scheme::Tls => {
                match self.dial(health::DIAL_TIMEOUT, health::TIMEOUT, health::TIMEOUT).await {
                    Err(error) => Err(error),
                    Ok(mut session) => ask(&mut session, &question).await,
                }
            }
            Scheme::Https => self.over_https(&packet, DohMethod::Post, health::TIMEOUT).await,
        };
        matches!(result, Ok(_) | Err(Error::WrongQuestion | Error::Malformed))
    }
}

/// Sends a question over a session; skips messages that do not belong to it.
async fn ask(session: &mut Session, question: &Question<'_>) -> Result<AcceptedAnswer, Error> {
    session.send(question.packet()).await?;
    let deadline = tokio::time::Instant::now() + session.limits().read_timeout;
    loop {
        let mut message = Vec::new();
        session.receive_by(deadline, &mut message).await?;
        let answer = Answer { message, network: Network::Tcp, local: session.connection().local };
        if let Some(reply) = policy::check(question, answer, usize::MAX) {
            return reply;
        }
    }
}

fn dialer(options: &Options, encryption: Option<Encryption>) -> Option<Dialer> {
    let tcp = Dialer::Tcp(options.endpoint());
    match options.scheme {
        Scheme::Dns => Some(tcp),
        Scheme::Tls | Scheme::Https => Some(Dialer::Tls(Box::new(tcp), encryption?)),
    }
}

fn no_tls() -> Error {
    Error::Tls("no configuration".into())
}

/// TLS for the schemes that use it. Without a configuration it reads the system's root certificates, which is slow
/// enough to be done once.
fn encryption(options: &Options) -> Option<Encryption> {
    if options.scheme == Scheme::Dns {
        return None;
    }
    let config = match &options.tls {
        Some(config) => Arc::clone(config),
        None => Arc::new(tls::tls_config(&[]).ok()?),
    };
    Some(Encryption::new(config, options.server_name.as_deref(), options.addr))
}
