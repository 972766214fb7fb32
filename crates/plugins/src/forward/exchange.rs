//! Sends a query to one upstream after the other until one answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use upstream::{Answer, Error, Network};
use wire::{Flags, Rcode, Reply};

use super::concurrency::Permit;
use super::targets::Target;
use super::{Core, HEALTHCHECK_BROKEN};

/// Default number of attempts per upstream.
const ATTEMPTS_PER_UPSTREAM: u64 = 2;
/// Pause between rounds. Without it, upstreams that refuse at once would be queried in a busy loop.
const ROUND_PAUSE: Duration = Duration::from_millis(10);

/// Rounds through all upstreams before the pause, if attempts are limited.
const QUICK_ROUNDS: u32 = 2;

/// A query to be forwarded.
pub(super) struct Exchange {
    pub core: Arc<Core>,
    pub packet: Vec<u8>,
    pub network: Network,
    /// Maximum UDP reply size of the client.
    pub udp_size: u16,
    /// No attempt starts after this.
    pub deadline: Instant,
    /// Record every attempt, for taps and traces.
    pub record_attempts: bool,
    /// Record every step, for `explain`.
    pub explain: bool,
    /// Whether a client waits. If not, metrics, health and sockets of the upstreams stay as they are.
    pub served: bool,
}

/// The result of an exchange.
pub(super) struct ExchangeResult {
    pub outcome: Outcome,
    /// The upstream queried last.
    pub last: Option<SocketAddr>,
    /// Empty unless `record_attempts` was set.
    pub attempts: Vec<Attempt>,
    took: Duration,
    /// What happened with each upstream; empty unless `explain` was set.
    steps: Vec<String>,
}

/// One query to one upstream.
pub(super) struct Attempt {
    pub upstream: SocketAddr,
    pub network: Network,
    /// The local address, if a connection was made.
    pub local: Option<SocketAddr>,
    pub began: SystemTime,
    pub ended: SystemTime,
    pub reply: Option<Vec<u8>>,
}

pub(super) enum Outcome {
    /// A well-formed reply to the question.
    Answer(Vec<u8>),
    /// An upstream replied to another question.
    WrongQuestion,
    /// The last error; None if no upstream was queried.
    Failed(Option<String>),
}

/// A failed attempt, and its network and local address if a connection was made.
struct Failure {
    cause: Cause,
    connection: Option<(Network, SocketAddr)>,
}

enum Cause {
    WrongQuestion,
    Error(String),
}

impl Exchange {
    /// Runs the exchange; the permit is released at its end.
    pub async fn run(self, _permit: Permit) -> ExchangeResult {
        let start = Instant::now();
        let mut result = ExchangeResult {
            outcome: Outcome::Failed(None),
            last: None,
            attempts: Vec::new(),
            took: Duration::ZERO,
            steps: Vec::new(),
        };
        result.outcome = self.try_upstreams(&mut result).await;
        result.took = start.elapsed();
        result
    }

    async fn try_upstreams(&self, result: &mut ExchangeResult) -> Outcome {
        let core = &*self.core;
        let targets = core.targets.list();
        let count = targets.len();
        let order = core.policy.order(count, self.served);
        let max_attempts = core.max_attempts.map_or(ATTEMPTS_PER_UPSTREAM * count as u64, u64::from);
        // Half of the time, so that a connection that hangs leaves time for another attempt.
        let window = self.deadline.saturating_duration_since(Instant::now());
        let connect_timeout = if max_attempts == 1 { window } else { window / 2 };
        let (mut place, mut down, mut attempts, mut failovers, mut rounds) = (0, 0, 0, 0, 0);
        let mut error = None;
        while Instant::now() < self.deadline && (max_attempts == 0 || attempts < max_attempts) {
            if place >= count {
                (place, down) = (0, 0);
                rounds += 1;
                if max_attempts == 0 || rounds > QUICK_ROUNDS {
                    tokio::time::sleep(ROUND_PAUSE).await;
                } else {
                    // Attempts may fail without waiting; let the thread serve other queries.
                    net::yield_local().await;
                }
            }
            let mut target = &targets[order.at(place)];
            place += 1;
            if core.is_down(target) {
                down += 1;
                if self.explain {
                    let why = match target.upstream.is_down(core.max_fails) {
                        true => "health checks fail",
                        false => "replies only SERVFAIL",
                    };
                    result.steps.push(format!("{} is down: {why}", target.addr));
                }
                if down < count {
                    continue;
                }
                if self.served {
                    HEALTHCHECK_BROKEN.inc();
                }
                if core.failfast {
                    break;
                }
                // Broken health checks are more likely than that all upstreams are down.
                target = &targets[rand::random_range(0..count)];
            }
            result.last = Some(target.addr);
            let began = self.record_attempts.then(SystemTime::now);
            let started = self.explain.then(Instant::now);
            let exchanged = self.query_upstream(target, connect_timeout).await;
            if let Some(started) = started {
                result.steps.push(self.step(target, &exchanged, started.elapsed()));
            }
            if let Some(began) = began {
                result.attempts.push(Attempt::new(target.addr, self.network, began, &exchanged));
            }
            let message = match exchanged.map_err(|failure| failure.cause) {
                Ok(answer) => answer.message,
                Err(Cause::WrongQuestion) => return Outcome::WrongQuestion,
                Err(Cause::Error(text)) => {
                    if core.max_fails != 0 && self.served {
                        target.upstream.check_health();
                    }
                    error = Some(text);
                    attempts += 1;
                    if down < count {
                        continue;
                    }
                    break;
                }
            };
            error = None;
            if core.inspects_rcodes() {
                let rcode = rcode(&message);
                if self.served {
                    target.streak.record(rcode == Rcode::SERVFAIL);
                }
                if core.failover.contains(&rcode) {
                    failovers += 1;
                    if failovers < count {
                        continue;
                    }
                }
            }
            return Outcome::Answer(message);
        }
        Outcome::Failed(error)
    }

    /// `192.0.2.1:53 over udp: NOERROR in 1.2ms`
    fn step(&self, target: &Target, exchanged: &Result<Answer, Failure>, took: Duration) -> String {
        let network = exchanged.as_ref().map_or(self.network, |answer| answer.network);
        let (addr, transport) = (target.addr, target.transport(network));
        let took = golang::GoDuration::from(took);
        match exchanged {
            Ok(answer) => {
                let rcode = rcode(&answer.message);
                let next = if self.core.failover.contains(&rcode) { " (failover)" } else { "" };
                format!("{addr} over {transport}: {rcode} in {took}{next}")
            }
            Err(Failure { cause: Cause::Error(error), .. }) => {
                format!("{addr} over {transport}: {error} after {took}")
            }
            Err(_) => format!("{addr} over {transport}: reply to another question in {took}"),
        }
    }

    /// Queries one upstream, again over TCP if the reply was truncated and `prefer_udp` is set.
    async fn query_upstream(&self, target: &Target, connect_timeout: Duration) -> Result<Answer, Failure> {
        let answer = self.query_over(self.network, target, connect_timeout).await?;
        if self.core.retry_truncated && answer.network == Network::Udp && is_truncated(&answer.message) {
            // Boxed: this rare case would enlarge the future of every query.
            return Box::pin(self.query_over(Network::Tcp, target, connect_timeout)).await;
        }
        Ok(answer)
    }

    async fn query_over(
        &self,
        network: Network,
        target: &Target,
        connect_timeout: Duration,
    ) -> Result<Answer, Failure> {
        let connect_by = self.deadline.min(Instant::now() + connect_timeout);
        let exchanged = if self.served {
            target.upstream.exchange_by(&self.packet, network, self.udp_size, Some(connect_by)).await
        } else {
            // Boxed, as above.
            Box::pin(self.query_apart(network, target, connect_by)).await
        };
        exchanged.map_err(|error| match error {
            Error::WrongQuestion => Failure { cause: Cause::WrongQuestion, connection: None },
            error => Failure { connection: error.connection(), cause: Cause::Error(error.to_string()) },
        })
    }

    /// Queries the upstream's address over a socket of its own, uncounted.
    async fn query_apart(
        &self,
        network: Network,
        target: &Target,
        connect_by: Instant,
    ) -> Result<Answer, Error> {
        let upstream = self.core.targets.apart(target);
        let answer = upstream.exchange_by(&self.packet, network, self.udp_size, Some(connect_by)).await;
        upstream.stop();
        answer
    }
}

impl Attempt {
    fn new(
        upstream: SocketAddr,
        tried: Network,
        began: SystemTime,
        exchanged: &Result<Answer, Failure>,
    ) -> Attempt {
        let (network, local, reply) = match exchanged {
            Ok(answer) => (answer.network, answer.local, Some(answer.message.clone())),
            Err(Failure { connection: Some((network, local)), .. }) => (*network, Some(*local), None),
            Err(_) => (tried, None, None),
        };
        Attempt { upstream, network, local, began, ended: SystemTime::now(), reply }
    }
}

impl Core {
    fn is_down(&self, target: &Target) -> bool {
        target.upstream.is_down(self.max_fails)
            || self
                .servfail_hold
                .is_some_and(|hold| self.max_fails != 0 && target.streak.exceeds(self.max_fails, hold))
    }

    /// Whether replies must be decoded here for their rcode.
    fn inspects_rcodes(&self) -> bool {
        !self.failover.is_empty() || self.servfail_hold.is_some()
    }
}

/// The reply's rcode, including the extended bits of EDNS.
fn rcode(message: &[u8]) -> Rcode {
    let mut reply = Reply::new();
    reply.decode(message);
    reply.rcode
}

fn is_truncated(message: &[u8]) -> bool {
    message.get(2).is_some_and(|&bits| Flags(u16::from(bits) << 8).has(Flags::TC))
}

impl ExchangeResult {
    pub fn explain(&self) -> String {
        let took = golang::GoDuration::from(self.took);
        match (&self.outcome, self.last) {
            (Outcome::Answer(_), Some(addr)) => format!("{addr} answered in {took}"),
            (Outcome::WrongQuestion, Some(addr)) => format!("{addr} replied to another question"),
            _ => format!("gave up after {took}"),
        }
    }

    /// What happened with each upstream, in order.
    pub fn take_steps(&mut self) -> Vec<String> {
        std::mem::take(&mut self.steps)
    }
}
