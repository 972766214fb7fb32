//! One query put to one upstream after the other until one answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use upstream::{Answer, Error, Network};
use wire::{Flags, Rcode, Reply};

use super::concurrent::Permit;
use super::targets::Target;
use super::{Core, HEALTHCHECK_BROKEN};

/// Attempts per upstream if the Corefile does not say otherwise.
const ATTEMPTS_PER_UPSTREAM: u64 = 2;
/// Without a limit of attempts, upstreams that refuse at once would be asked as fast as the machine can.
const PAUSE: Duration = Duration::from_millis(10);

/// Rounds through all upstreams before there are such pauses in any case.
const QUICK_ROUNDS: u32 = 2;

/// What to ask, and how.
pub(super) struct Asking {
    pub core: Arc<Core>,
    pub packet: Vec<u8>,
    pub network: Network,
    /// The largest UDP reply the client takes.
    pub udp_size: u16,
    /// No attempt begins after this.
    pub deadline: Instant,
    /// Somebody wants to know about every attempt.
    pub observed: bool,
    /// Somebody wants to know why the answer is what it is.
    pub explained: bool,
}

/// What came of it.
pub(super) struct Asked {
    pub end: End,
    /// The upstream that was asked last.
    pub last: Option<SocketAddr>,
    /// All of them, if they are observed.
    pub attempts: Vec<Attempt>,
    took: Duration,
    /// What was done about each upstream, if it is to be explained.
    steps: Vec<String>,
}

/// One upstream asked once.
pub(super) struct Attempt {
    pub upstream: SocketAddr,
    pub network: Network,
    /// Our own address, if a connection came about.
    pub local: Option<SocketAddr>,
    pub began: SystemTime,
    pub ended: SystemTime,
    pub reply: Option<Vec<u8>>,
}

pub(super) enum End {
    /// A message that can be read and answers the question.
    Answer(Vec<u8>),
    /// An upstream answers something else.
    WrongQuestion,
    /// The last error; none if nobody was even asked.
    Failed(Option<String>),
}

/// Why an exchange gave nothing, and how far it had got.
struct Failure {
    why: Why,
    way: Option<(Network, SocketAddr)>,
}

enum Why {
    WrongQuestion,
    Error(String),
}

impl Asking {
    /// The permit is given back when that is known.
    pub async fn ask(self, _permit: Permit) -> Asked {
        let start = Instant::now();
        let mut asked = Asked {
            end: End::Failed(None),
            last: None,
            attempts: Vec::new(),
            took: Duration::ZERO,
            steps: Vec::new(),
        };
        asked.end = self.until_answered(&mut asked).await;
        asked.took = start.elapsed();
        asked
    }

    async fn until_answered(&self, asked: &mut Asked) -> End {
        let core = &*self.core;
        let targets = core.targets.list();
        let count = targets.len();
        let order = core.policy.order(count);
        let most = core.max_attempts.map_or(ATTEMPTS_PER_UPSTREAM * count as u64, u64::from);
        // Half of the time, so that a connection that hangs leaves some for another attempt.
        let window = self.deadline.saturating_duration_since(Instant::now());
        let connecting = if most == 1 { window } else { window / 2 };
        let (mut place, mut down, mut attempts, mut failovers, mut rounds) = (0, 0, 0, 0, 0);
        let mut error = None;
        while Instant::now() < self.deadline && (most == 0 || attempts < most) {
            if place >= count {
                (place, down) = (0, 0);
                rounds += 1;
                if most == 0 || rounds > QUICK_ROUNDS {
                    tokio::time::sleep(PAUSE).await;
                } else {
                    // Attempts may fail without ever waiting; the thread has others to serve.
                    net::yield_here().await;
                }
            }
            let mut target = &targets[order.at(place)];
            place += 1;
            if core.is_down(target) {
                down += 1;
                if self.explained {
                    let why = match target.upstream.is_down(core.max_fails) {
                        true => "its health checks fail",
                        false => "it answers nothing but SERVFAIL",
                    };
                    asked.steps.push(format!("{} is down: {why}", target.addr));
                }
                if down < count {
                    continue;
                }
                HEALTHCHECK_BROKEN.inc();
                if core.failfast {
                    break;
                }
                // That all are down is less likely than that the checks are broken.
                target = &targets[rand::random_range(0..count)];
            }
            asked.last = Some(target.addr);
            let began = self.observed.then(SystemTime::now);
            let started = self.explained.then(Instant::now);
            let exchanged = self.exchange(target, connecting).await;
            if let Some(started) = started {
                asked.steps.push(self.step(target, &exchanged, started.elapsed()));
            }
            if let Some(began) = began {
                asked.attempts.push(Attempt::of(target.addr, self.network, began, &exchanged));
            }
            let message = match exchanged.map_err(|failure| failure.why) {
                Ok(answer) => answer.message,
                Err(Why::WrongQuestion) => return End::WrongQuestion,
                Err(Why::Error(text)) => {
                    if core.max_fails != 0 {
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
            if core.looks_at_codes() {
                let rcode = rcode(&message);
                target.streak.note(rcode == Rcode::SERVFAIL);
                if core.failover.contains(&rcode) {
                    failovers += 1;
                    if failovers < count {
                        continue;
                    }
                }
            }
            return End::Answer(message);
        }
        End::Failed(error)
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
            Err(Failure { why: Why::Error(error), .. }) => {
                format!("{addr} over {transport}: {error} after {took}")
            }
            Err(_) => format!("{addr} over {transport}: answered another question in {took}"),
        }
    }

    /// One upstream, and again over TCP if its reply was cut and that is wanted.
    async fn exchange(&self, target: &Target, connecting: Duration) -> Result<Answer, Failure> {
        let answer = self.exchange_over(self.network, target, connecting).await?;
        if self.core.retry_truncated && answer.network == Network::Udp && is_truncated(&answer.message) {
            // Boxed, since few need it and all that wait would have room for it.
            return Box::pin(self.exchange_over(Network::Tcp, target, connecting)).await;
        }
        Ok(answer)
    }

    async fn exchange_over(
        &self,
        network: Network,
        target: &Target,
        connecting: Duration,
    ) -> Result<Answer, Failure> {
        let connect_by = self.deadline.min(Instant::now() + connecting);
        let exchange = target.upstream.exchange_by(&self.packet, network, self.udp_size, Some(connect_by));
        exchange.await.map_err(|error| match error {
            Error::WrongQuestion => Failure { why: Why::WrongQuestion, way: None },
            error => Failure { way: error.way(), why: Why::Error(error.to_string()) },
        })
    }
}

impl Attempt {
    fn of(
        upstream: SocketAddr,
        asked_over: Network,
        began: SystemTime,
        exchanged: &Result<Answer, Failure>,
    ) -> Attempt {
        let (network, local, reply) = match exchanged {
            Ok(answer) => (answer.network, answer.local, Some(answer.message.clone())),
            Err(Failure { way: Some((network, local)), .. }) => (*network, Some(*local), None),
            Err(_) => (asked_over, None, None),
        };
        Attempt { upstream, network, local, began, ended: SystemTime::now(), reply }
    }
}

impl Core {
    fn is_down(&self, target: &Target) -> bool {
        target.upstream.is_down(self.max_fails)
            || self
                .servfail_hold
                .is_some_and(|hold| self.max_fails != 0 && target.streak.is_longer(self.max_fails, hold))
    }

    /// Only then replies are read here already.
    fn looks_at_codes(&self) -> bool {
        !self.failover.is_empty() || self.servfail_hold.is_some()
    }
}

/// The reply's code, with what EDNS adds.
fn rcode(message: &[u8]) -> Rcode {
    let mut reply = Reply::new();
    reply.decode(message);
    reply.rcode
}

fn is_truncated(message: &[u8]) -> bool {
    message.get(2).is_some_and(|&bits| Flags(u16::from(bits) << 8).has(Flags::TC))
}

impl Asked {
    pub fn explain(&self) -> String {
        let took = golang::GoDuration::from(self.took);
        match (&self.end, self.last) {
            (End::Answer(_), Some(addr)) => format!("{addr} answered in {took}"),
            (End::WrongQuestion, Some(addr)) => format!("{addr} answered another question"),
            _ => format!("gave up after {took}"),
        }
    }

    /// What was done about each upstream, in order.
    pub fn take_steps(&mut self) -> Vec<String> {
        std::mem::take(&mut self.steps)
    }
}
