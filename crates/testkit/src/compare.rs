//! Two servers, the same questions: where do the answers differ?

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

/// How many differences a failed comparison shows.
const SHOWN: usize = 5;

/// How long after a TTL differed the question is asked again, when caches are compared: until a refresh in the
/// background has ended, then until an entry with a second left has gone.
const MOMENTS: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(1100)];

/// One question in so many (and one at least) may meet its entry in the moment it expires in one cache and not yet in the other. Were
/// it more, the two would count time differently, which is a difference.
const RARE: usize = 500;

/// Until most questions come to a worker that has had them twice and gives its reply again.
const OFTEN: usize = 4;

/// An answer that takes longer was waited for.
const AT_ONCE: Duration = Duration::from_millis(20);

/// One that took so long, or did not come, is what counts: to ask again would take as long.
const LATE: Duration = Duration::from_secs(1);

/// Lanes for [`Comparison::others_beside`]. They do nothing but wait.
const BESIDE: usize = 16;

/// How long silence lasts until it is an answer to a packet that asks nothing.
const NO_QUESTION: Duration = Duration::from_millis(150);

/// Compares two servers, question by question. The first is the one taken as right.
pub struct Comparison {
    servers: [Server; 2],
    options: Options,
    lanes: usize,
    timeout: Duration,
    /// Asked from in turn; none: from wherever the system likes.
    sources: Vec<IpAddr>,
    accept: Option<Box<Accept>>,
    /// How often some questions are asked before.
    repeated: usize,
    others_beside: bool,
}

struct Server {
    name: String,
    addr: SocketAddr,
}

/// Says why a difference is meant to be, or `None` when it is not.
type Accept = dyn Fn(&Difference) -> Option<&'static str> + Sync;

/// What a comparison found.
#[derive(Debug)]
pub struct Report {
    pub seed: u64,
    pub asked: usize,
    /// Questions that both left unanswered.
    pub silent: usize,
    /// What those were.
    pub unanswered: Vec<String>,
    /// Questions whose TTLs differed once and no longer when asked again.
    pub moments: usize,
    /// Questions by the response code of the first server.
    pub rcodes: BTreeMap<String, usize>,
    /// Differences found acceptable, by reason.
    pub accepted: BTreeMap<&'static str, usize>,
    /// In the order of the questions.
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
            others_beside: false,
        }
    }

    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// How many questions are under way at once. One keeps their order, which matters for shared state.
    pub fn lanes(mut self, lanes: usize) -> Self {
        self.lanes = lanes.max(1);
        self
    }

    /// How long silence lasts until it is an answer.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The addresses of this machine to ask from, which one by the id of the question.
    pub fn sources(mut self, sources: Vec<IpAddr>) -> Self {
        self.sources = sources;
        self
    }

    /// Asks one question in three several times before the answers that count: a server may remember what it said.
    pub fn repeated(mut self) -> Self {
        self.repeated = OFTEN;
        self
    }

    /// Asks what is no QUERY beside the lanes. No cache keeps it, so its order does not matter, and a forwarder waits
    /// for seconds where its upstream drops NOTIFY.
    pub fn others_beside(mut self) -> Self {
        self.others_beside = true;
        self
    }

    /// Differences that are meant to be, with the reason for each; they are counted, not reported.
    pub fn accept(mut self, accept: impl Fn(&Difference) -> Option<&'static str> + Sync + 'static) -> Self {
        self.accept = Some(Box::new(accept));
        self
    }

    /// Asks both servers `count` questions of `generator` and tells where they differ.
    pub fn run(&self, mut generator: Generator, count: usize) -> Result<Report> {
        let seed = generator.seed();
        let queries: Vec<GeneratedQuery> = generator.by_ref().take(count).collect();
        let mut report = self.run_queries(&queries)?;
        report.seed = seed;
        Ok(report)
    }

    /// The same with given questions; the seed of the report is 0.
    pub fn run_queries(&self, queries: &[GeneratedQuery]) -> Result<Report> {
        let (questions, others): (Vec<usize>, Vec<usize>) =
            (0..queries.len()).partition(|&i| !self.others_beside || is_query(&queries[i].wire));
        let asked = [(self.lanes, questions), (BESIDE, others)]
            .map(|(lanes, mine)| (lanes.min(mine.len()), Mutex::new(mine.into_iter())));
        let moments = AtomicUsize::new(0);
        let allowed = queries.len().div_ceil(RARE);
        let results: Mutex<Vec<(usize, Pair)>> = Mutex::default();
        let next = |mine: &Mutex<IntoIter<usize>>| mine.lock().unwrap_or_else(PoisonError::into_inner).next();
        let lane = |mine| -> Result<()> {
            while let Some(i) = next(mine) {
                let query = &queries[i];
                let mut pair = self.settled(query, i.is_multiple_of(3)).context(&query.description)?;
                if self.only_ttls_differ(&pair) && moments.fetch_add(1, Ordering::Relaxed) < allowed {
                    pair = self.ask_in_a_moment(query, pair).context(&query.description)?;
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).push((i, pair));
            }
            Ok(())
        };
        thread::scope(|scope| {
            let mut running = Vec::new();
            for (lanes, mine) in &asked {
                running.extend((0..*lanes).map(|_| scope.spawn(|| lane(mine))));
            }
            running
                .into_iter()
                .try_for_each(|lane| lane.join().unwrap_or_else(|_| Err(Error::new("a lane panicked"))))
        })?;
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(i, _)| *i);
        let mut report = self.report(queries, results);
        report.moments = moments.into_inner();
        Ok(report)
    }

    /// Runs and fails the test with the first differences and the seed, if there are any.
    pub fn check(&self, generator: Generator, count: usize) -> Report {
        let report = self.run(generator, count).unwrap_or_else(|e| panic!("{e}"));
        report.assert_same();
        report
    }

    fn ask(&self, query: &GeneratedQuery) -> Result<Pair> {
        let addrs = [self.servers[0].addr, self.servers[1].addr];
        let id = query.wire.get(..2).map_or(0, |id| usize::from(id[0]) << 8 | usize::from(id[1]));
        let from = self.sources.get(id % self.sources.len().max(1)).copied();
        let patience = if asks_nothing(&query.wire) { self.timeout.min(NO_QUESTION) } else { self.timeout };
        let once = || client::ask_both(addrs, from, query.transport, &query.wire, patience);
        let first = once()?;
        // One silent, the other not: a lost packet or a slow moment looks like that, and does not last.
        if first[0].reply().is_some() != first[1].reply().is_some() { once() } else { Ok(first) }
    }

    /// The answers that count, after several others if `repeats`. Those end early where an answer is waited for: each
    /// time would be.
    fn settled(&self, query: &GeneratedQuery, repeats: bool) -> Result<Pair> {
        for _ in 0..if repeats { self.repeated } else { 0 } {
            let began = Instant::now();
            let pair = self.ask(query)?;
            if began.elapsed() > LATE || pair.iter().any(|outcome| outcome.reply().is_none()) {
                return Ok(pair);
            }
            if began.elapsed() > AT_ONCE {
                break;
            }
        }
        self.ask(query)
    }

    /// Whether the TTLs of two caches are all that differs.
    fn only_ttls_differ(&self, [left, right]: &Pair) -> bool {
        self.options.cached_ttl
            && !differences(left, right, &self.options).is_empty()
            && differences(left, right, &Options { any_ttl: true, ..self.options.clone() }).is_empty()
    }

    fn ask_in_a_moment(&self, query: &GeneratedQuery, mut pair: Pair) -> Result<Pair> {
        for pause in MOMENTS {
            thread::sleep(pause);
            pair = self.ask(query)?;
            if differences(&pair[0], &pair[1], &self.options).is_empty() {
                break;
            }
        }
        Ok(pair)
    }

    fn report(&self, queries: &[GeneratedQuery], results: Vec<(usize, Pair)>) -> Report {
        let mut report = Report {
            seed: 0,
            asked: queries.len(),
            silent: 0,
            unanswered: Vec::new(),
            moments: 0,
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

/// Less than a header, or a reply: servers drop it at the door, and nobody waits long for that.
fn asks_nothing(packet: &[u8]) -> bool {
    packet.len() < 12 || packet[2] & 0x80 != 0
}

/// Whether its opcode says so.
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
            self.asked,
            self.seed
        );
        for difference in self.differences.iter().take(SHOWN) {
            let _ = write!(text, "\n{difference}");
        }
        if self.differences.len() > SHOWN {
            let _ = write!(text, "\nand {} more", self.differences.len() - SHOWN);
        }
        panic!("{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{self, Pool};
    use std::net::UdpSocket;

    /// Echoes what it is asked as a reply, with `bits` set, but ignores the first `deaf` packets.
    fn server(deaf: usize, bits: u8) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let addr = socket.local_addr().unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            for i in 0.. {
                let (n, from) = socket.recv_from(&mut buffer).unwrap();
                if i >= deaf {
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
    fn one_lost_packet_is_forgiven_and_two_are_not() {
        let report = comparison(server(0, 0), server(1, 0)).run(generator(), 3).unwrap();
        assert_eq!((report.differences.len(), report.silent, report.asked), (0, 0, 3));
        let report = comparison(server(0, 0), server(2, 0)).run(generator(), 3).unwrap();
        assert_eq!(report.differences.len(), 1);
        assert_eq!(report.differences[0].lines[1], Line::Right("no answer".into()));
    }

    /// Answers with one address whose TTL is the next of `ttls`, and then forever the last.
    fn counting(ttls: &'static [u8]) -> SocketAddr {
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
    fn an_entry_met_while_it_expires_is_asked_for_again_a_few_times() {
        let cached = Options { cached_ttl: true, ..Options::default() };
        let run = |ttls, options: &Options| {
            let comparison = comparison(counting(&[30]), counting(ttls)).options(options.clone());
            let report = comparison.run(generator(), 3).unwrap();
            (report.differences.len(), report.moments)
        };
        assert_eq!(run(&[0, 30], &cached), (0, 1));
        assert_eq!(run(&[0, 1, 30], &cached), (0, 1));
        assert_eq!(run(&[0, 30, 0, 30], &cached), (1, 2), "one of three may be such a moment, not two");
        assert_eq!(run(&[0], &cached), (3, 3));
        assert_eq!(run(&[0, 30], &Options::default()), (1, 0));
    }

    #[test]
    fn silence_on_both_sides_is_agreement() {
        let report = comparison(server(1, 0), server(1, 0)).run(generator(), 2).unwrap();
        assert_eq!((report.differences.len(), report.silent), (0, 1));
        assert_eq!(report.rcodes, [("NOERROR".to_owned(), 1)].into());
    }

    #[test]
    #[should_panic(expected = "7 of 7 answers differ; repeat with RHUMB_SEED=42")]
    fn a_failed_check_tells_the_seed() {
        comparison(server(0, 0), server(0, 3)).check(generator(), 7);
    }

    #[test]
    fn a_failed_check_shows_a_few() {
        let report = comparison(server(0, 0), server(0, 3)).run(generator(), 7).unwrap();
        let panic = std::panic::catch_unwind(|| report.assert_same()).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert_eq!(text.matches("+ rcode NXDOMAIN").count(), SHOWN);
        assert!(text.ends_with("and 2 more"), "{text}");
    }
}
