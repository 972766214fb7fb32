//! Sends the same queries to two servers and reports where the replies differ.

mod difference;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use crate::client::{self, Outcome};
use crate::error::{Context, Error, Result};
use crate::message::Message;
use crate::mnemonic;
use crate::query::{GeneratedQuery, Generator};

pub use difference::{Difference, Line, Options, differences};

/// Number of differences printed by a failed comparison.
const MAX_PRINTED: usize = 5;

/// Delays before a query is repeated whose TTLs differed between two caches: until a background refresh has ended,
/// then until an entry with a second left has expired.
const TTL_RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(1100)];

/// One query in so many (at least one) may hit an entry that has expired in one cache and not yet in the other. More
/// would mean that the caches count time differently, which is a difference.
const QUERIES_PER_TTL_RETRY: usize = 500;

/// Repetitions after which most queries reach a worker that has answered them twice, and so from its cache.
const REPETITIONS: usize = 4;

/// A reply that takes longer was delayed by an upstream; repeating it would take as long.
const IMMEDIATE: Duration = Duration::from_millis(20);

/// A reply that took so long, or timed out, is compared without repeating the query.
const SLOW: Duration = Duration::from_secs(1);

/// Threads for [`Comparison::separate_other_opcodes`]. They mostly wait.
const OTHER_OPCODE_LANES: usize = 16;

/// Timeout for packets that are not queries.
const NON_QUERY_TIMEOUT: Duration = Duration::from_millis(150);

/// Compares two servers, query by query. The first is the reference.
pub struct Comparison {
    servers: [Server; 2],
    options: Options,
    lanes: usize,
    timeout: Duration,
    /// Source addresses, chosen by query id; empty: the system's choice.
    sources: Vec<IpAddr>,
    accept: Option<Box<Accept>>,
    /// Repetitions of some queries before the compared one.
    repeated: usize,
    separate_other_opcodes: bool,
}

struct Server {
    name: String,
    addr: SocketAddr,
}

/// Returns the reason why a difference is intended, or `None`.
type Accept = dyn Fn(&Difference) -> Option<&'static str> + Sync;

/// The result of a comparison.
#[derive(Debug)]
pub struct Report {
    pub seed: u64,
    pub queries: usize,
    /// Number of queries that neither server answered.
    pub silent: usize,
    /// Descriptions of those.
    pub unanswered: Vec<String>,
    /// Queries whose TTLs differed once and no longer when repeated.
    pub ttl_retries: usize,
    /// Queries by the response code of the first server.
    pub rcodes: BTreeMap<String, usize>,
    /// Accepted differences, by reason.
    pub accepted: BTreeMap<&'static str, usize>,
    /// In the order of the queries.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// `left` is the reference; the names are for the report.
    pub fn new(left: (&str, SocketAddr), right: (&str, SocketAddr)) -> Self {
        let server = |(name, addr): (&str, SocketAddr)| Server { name: name.to_owned(), addr };
        Self {
            servers: [server(left), server(right)],
            options: Options::default(),
            lanes: 8,
            timeout: Duration::from_millis(700),
            sources: Vec::new(),
            accept: None,
            repeated: 0,
            separate_other_opcodes: false,
        }
    }

    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Number of concurrent queries. One keeps their order, which matters for shared state.
    pub fn lanes(mut self, lanes: usize) -> Self {
        self.lanes = lanes.max(1);
        self
    }

    /// How long to wait for a reply.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The local source addresses, chosen by query id.
    pub fn sources(mut self, sources: Vec<IpAddr>) -> Self {
        self.sources = sources;
        self
    }

    /// Sends one query in three several times before the compared one, so that caches answer it.
    pub fn repeated(mut self) -> Self {
        self.repeated = REPETITIONS;
        self
    }

    /// Sends opcodes other than QUERY on threads of their own. No cache stores their replies, so their order does not
    /// matter, and a forwarder waits for seconds where its upstream drops NOTIFY.
    pub fn separate_other_opcodes(mut self) -> Self {
        self.separate_other_opcodes = true;
        self
    }

    /// Accepts intended differences, with the reason for each; they are counted, not reported.
    pub fn accept(mut self, accept: impl Fn(&Difference) -> Option<&'static str> + Sync + 'static) -> Self {
        self.accept = Some(Box::new(accept));
        self
    }

    /// Sends `count` queries of `generator` to both servers and reports where they differ.
    pub fn run(&self, mut generator: Generator, count: usize) -> Result<Report> {
        let seed = generator.seed();
        let queries: Vec<GeneratedQuery> = generator.by_ref().take(count).collect();
        let mut report = self.run_queries(&queries)?;
        report.seed = seed;
        Ok(report)
    }

    /// The same with given queries; the seed of the report is 0.
    pub fn run_queries(&self, queries: &[GeneratedQuery]) -> Result<Report> {
        let (ordinary, others): (Vec<usize>, Vec<usize>) =
            (0..queries.len()).partition(|&i| !self.separate_other_opcodes || is_query(&queries[i].wire));
        let queues = [(self.lanes, ordinary), (OTHER_OPCODE_LANES, others)]
            .map(|(lanes, mine)| (lanes.min(mine.len()), Mutex::new(mine.into_iter())));
        let ttl_retries = AtomicUsize::new(0);
        let allowed = queries.len().div_ceil(QUERIES_PER_TTL_RETRY);
        let results: Mutex<Vec<(usize, Pair)>> = Mutex::default();
        let next = |mine: &Mutex<IntoIter<usize>>| mine.lock().unwrap_or_else(PoisonError::into_inner).next();
        let lane = |mine| -> Result<()> {
            while let Some(i) = next(mine) {
                let query = &queries[i];
                let mut pair =
                    self.query_repeatedly(query, i.is_multiple_of(3)).context(&query.description)?;
                if self.only_ttls_differ(&pair) && ttl_retries.fetch_add(1, Ordering::Relaxed) < allowed {
                    pair = self.retry_for_ttl(query, pair).context(&query.description)?;
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).push((i, pair));
            }
            Ok(())
        };
        thread::scope(|scope| {
            let mut running = Vec::new();
            for (lanes, mine) in &queues {
                running.extend((0..*lanes).map(|_| scope.spawn(|| lane(mine))));
            }
            running
                .into_iter()
                .try_for_each(|lane| lane.join().unwrap_or_else(|_| Err(Error::new("a lane panicked"))))
        })?;
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(i, _)| *i);
        let mut report = self.report(queries, results);
        report.ttl_retries = ttl_retries.into_inner();
        Ok(report)
    }

    /// Runs and fails the test with the first differences and the seed, if there are any.
    pub fn check(&self, generator: Generator, count: usize) -> Report {
        let report = self.run(generator, count).unwrap_or_else(|e| panic!("{e}"));
        report.assert_same();
        report
    }

    fn query_both(&self, query: &GeneratedQuery) -> Result<Pair> {
        let addrs = [self.servers[0].addr, self.servers[1].addr];
        let id = query.wire.get(..2).map_or(0, |id| usize::from(id[0]) << 8 | usize::from(id[1]));
        let from = self.sources.get(id % self.sources.len().max(1)).copied();
        let timeout =
            if is_not_a_request(&query.wire) { self.timeout.min(NON_QUERY_TIMEOUT) } else { self.timeout };
        let once = || client::query_both(addrs, from, query.transport, &query.wire, timeout);
        let first = once()?;
        // Only one answered: repeats once, in case a packet was lost or the server was slow.
        if first[0].reply().is_some() != first[1].reply().is_some() { once() } else { Ok(first) }
    }

    /// The compared replies, after repetitions if `repeats`. These end early at a slow reply: each would be slow.
    fn query_repeatedly(&self, query: &GeneratedQuery, repeats: bool) -> Result<Pair> {
        for _ in 0..if repeats { self.repeated } else { 0 } {
            let began = Instant::now();
            let pair = self.query_both(query)?;
            if began.elapsed() > SLOW || pair.iter().any(|outcome| outcome.reply().is_none()) {
                return Ok(pair);
            }
            if began.elapsed() > IMMEDIATE {
                break;
            }
        }
        self.query_both(query)
    }

    /// Whether the TTLs of two caches are all that differs.
    fn only_ttls_differ(&self, [left, right]: &Pair) -> bool {
        self.options.cached_ttl
            && !differences(left, right, &self.options).is_empty()
            && differences(left, right, &Options { any_ttl: true, ..self.options.clone() }).is_empty()
    }

    fn retry_for_ttl(&self, query: &GeneratedQuery, mut pair: Pair) -> Result<Pair> {
        for pause in TTL_RETRY_DELAYS {
            thread::sleep(pause);
            pair = self.query_both(query)?;
            if differences(&pair[0], &pair[1], &self.options).is_empty() {
                break;
            }
        }
        Ok(pair)
    }

    fn report(&self, queries: &[GeneratedQuery], results: Vec<(usize, Pair)>) -> Report {
        let mut report = Report {
            seed: 0,
            queries: queries.len(),
            silent: 0,
            unanswered: Vec::new(),
            ttl_retries: 0,
            rcodes: BTreeMap::new(),
            accepted: BTreeMap::new(),
            differences: Vec::new(),
        };
        for (i, outcomes) in results {
            if outcomes.iter().all(|o| o.reply().is_none()) {
                report.silent += 1;
                report.unanswered.push(queries[i].description.clone());
            }
            if let Some(reply) = outcomes[0].reply() {
                let rcode = mnemonic::of_rcode(Message::decode(reply).rcode());
                *report.rcodes.entry(rcode.into_owned()).or_default() += 1;
            }
            let lines = differences(&outcomes[0], &outcomes[1], &self.options);
            if lines.is_empty() {
                continue;
            }
            let names = [self.servers[0].name.clone(), self.servers[1].name.clone()];
            let difference = Difference { names, query: queries[i].clone(), outcomes, lines };
            match self.accept.as_ref().and_then(|accept| accept(&difference)) {
                Some(reason) => *report.accepted.entry(reason).or_default() += 1,
                None => report.differences.push(difference),
            }
        }
        report
    }
}

type Pair = [Outcome; 2];

/// Less than a header, or a response: servers drop it.
fn is_not_a_request(packet: &[u8]) -> bool {
    packet.len() < 12 || packet[2] & 0x80 != 0
}

/// Whether the opcode is QUERY.
fn is_query(packet: &[u8]) -> bool {
    packet.get(2).is_none_or(|flags| flags & 0x78 == 0)
}

impl Report {
    /// # Panics
    /// With the first differences and the seed, if there are differences.
    pub fn assert_same(&self) {
        if self.differences.is_empty() {
            return;
        }
        let mut text = format!(
            "{} of {} answers differ; repeat with RHUMB_SEED={}\n",
            self.differences.len(),
            self.queries,
            self.seed
        );
        for difference in self.differences.iter().take(MAX_PRINTED) {
            let _ = write!(text, "\n{difference}");
        }
        if self.differences.len() > MAX_PRINTED {
            let _ = write!(text, "\nand {} more", self.differences.len() - MAX_PRINTED);
        }
        panic!("{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{self, Pool};
    use std::net::UdpSocket;

    /// Echoes each query as a reply, with `bits` set, but ignores the first `ignored` packets.
    fn server(ignored: usize, bits: u8) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let addr = socket.local_addr().unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            for i in 0.. {
                let (n, from) = socket.recv_from(&mut buffer).unwrap();
                if i >= ignored {
                    buffer[2] |= 0x80;
                    buffer[3] |= bits;
                    socket.send_to(&buffer[..n], from).unwrap();
                }
            }
        });
        addr
    }

    fn generator() -> Generator {
        let options = query::Options { tcp: 0.0, odd_headers: 0.0, edns: 0.0, ..query::Options::default() };
        Generator::new(42, [Pool::new(1, ["a.example.org"])], options)
    }

    fn comparison(left: SocketAddr, right: SocketAddr) -> Comparison {
        Comparison::new(("left", left), ("right", right)).lanes(1).timeout(Duration::from_millis(200))
    }

    #[test]
    fn one_lost_packet_is_retried_two_are_a_difference() {
        let report = comparison(server(0, 0), server(1, 0)).run(generator(), 3).unwrap();
        assert_eq!((report.differences.len(), report.silent, report.queries), (0, 0, 3));
        let report = comparison(server(0, 0), server(2, 0)).run(generator(), 3).unwrap();
        assert_eq!(report.differences.len(), 1);
        assert_eq!(report.differences[0].lines[1], Line::Right("no answer".into()));
    }

    /// Answers with one address whose TTL is the next of `ttls`, then always the last.
    fn server_with_ttls(ttls: &'static [u8]) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let addr = socket.local_addr().unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            for i in 0.. {
                let (n, from) = socket.recv_from(&mut buffer).unwrap();
                let ttl = ttls[i.min(ttls.len() - 1)];
                let mut reply = buffer[..n].to_vec();
                reply[2] |= 0x80;
                reply[7] = 1;
                reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, ttl, 0, 4, 192, 0, 2, 1]);
                socket.send_to(&reply, from).unwrap();
            }
        });
        addr
    }

    #[test]
    fn differing_ttls_are_retried_rarely() {
        let cached = Options { cached_ttl: true, ..Options::default() };
        let run = |ttls, options: &Options| {
            let comparison =
                comparison(server_with_ttls(&[30]), server_with_ttls(ttls)).options(options.clone());
            let report = comparison.run(generator(), 3).unwrap();
            (report.differences.len(), report.ttl_retries)
        };
        assert_eq!(run(&[0, 30], &cached), (0, 1));
        assert_eq!(run(&[0, 1, 30], &cached), (0, 1));
        assert_eq!(run(&[0, 30, 0, 30], &cached), (1, 2), "one of three queries may be retried, not two");
        assert_eq!(run(&[0], &cached), (3, 3));
        assert_eq!(run(&[0, 30], &Options::default()), (1, 0));
    }

    #[test]
    fn no_reply_from_both_is_equal() {
        let report = comparison(server(1, 0), server(1, 0)).run(generator(), 2).unwrap();
        assert_eq!((report.differences.len(), report.silent), (0, 1));
        assert_eq!(report.rcodes, [("NOERROR".to_owned(), 1)].into());
    }

    #[test]
    #[should_panic(expected = "7 of 7 answers differ; repeat with RHUMB_SEED=42")]
    fn failed_check_prints_the_seed() {
        comparison(server(0, 0), server(0, 3)).check(generator(), 7);
    }

    #[test]
    fn failed_check_prints_a_few_differences() {
        let report = comparison(server(0, 0), server(0, 3)).run(generator(), 7).unwrap();
        let panic = std::panic::catch_unwind(|| report.assert_same()).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert_eq!(text.matches("+ rcode NXDOMAIN").count(), MAX_PRINTED);
        assert!(text.ends_with("and 2 more"), "{text}");
    }
}
