//! A scripted source below the cache that counts its queries.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use server::{
    Availability, CacheBypass, Hooks, Input, Metadata, MetadataView, Plugin, PluginSpec, Service, Step, Turn,
    Visit, config, task,
};
use wire::{Flags, NameBuf, Owner, Query, Rcode, Reply, Rtype, Section};

use super::super::clock::Clock;
use crate::testing::harness::answer;

const SOA: &[u8] =
    b"\x02ns\x07example\0\x05admin\x07example\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01";

thread_local! {
    // Setup runs on the test's own thread, where it finds the test's script.
    static SCRIPT: RefCell<Option<Arc<Script>>> = const { RefCell::new(None) };
}

/// Reply and delay of the source, and the queries it received.
pub struct Script {
    reply: Mutex<(String, Duration)>,
    queries: AtomicUsize,
    seen: Mutex<Vec<String>>,
}

/// A cache in front of a scripted source.
pub struct Fixture {
    pub service: Arc<Service>,
    pub script: Arc<Script>,
}

static PLUGINS: &[PluginSpec] = &[
    spec("metadata", crate::metadata::setup),
    spec("cancel", crate::cancel::setup),
    spec("reader", |s| {
        s.add(Reader);
        Ok(())
    }),
    spec("cache", super::super::setup),
    spec("bypass", |s| {
        let bypass = s.add(Bypass);
        s.offer::<dyn CacheBypass>(bypass);
        Ok(())
    }),
    spec("lookup", |s| {
        s.add(SelfLookup);
        Ok(())
    }),
    spec("source", |s| {
        let script = SCRIPT.with(|script| script.borrow().clone()).expect("a script");
        let source = s.add(Source { script });
        s.offer::<dyn Metadata>(source);
        Ok(())
    }),
];

const fn spec(name: &'static str, setup: server::SetupFn) -> PluginSpec {
    PluginSpec { name, about: "", availability: Availability::Available(setup) }
}

impl Fixture {
    /// `|` in the options stands for a new line.
    pub fn new(cache: &str) -> Fixture {
        Fixture::with(". {\ncache CACHE\nsource\n}".replace("CACHE", cache).as_str())
    }

    pub fn with(corefile: &str) -> Fixture {
        let script = Arc::new(Script {
            reply: Mutex::new(("a 30 10.0.0.1".to_owned(), Duration::ZERO)),
            queries: AtomicUsize::new(0),
            seen: Mutex::default(),
        });
        SCRIPT.with(|known| *known.borrow_mut() = Some(script.clone()));
        let contents = corefile.replace('|', "\n").into_bytes();
        let input = Input { name: "Corefile".into(), contents, dns_port: "53".into() };
        let config = config::build(&input, PLUGINS, &corefile::Disk).unwrap_or_else(|e| panic!("{}", e[0]));
        let service = config.services().next().expect("a service").1.clone();
        Fixture { service, script }
    }

    pub fn set_reply(&self, reply: &str) {
        self.script.reply.lock().expect("not poisoned").0 = reply.to_owned();
    }

    pub fn set_delay(&self, delay: Duration) {
        self.script.reply.lock().expect("not poisoned").1 = delay;
    }

    /// Number of queries the source received.
    pub fn queries(&self) -> usize {
        self.script.queries.load(Ordering::SeqCst)
    }

    /// Transport and AD flag of the source's last query.
    pub fn last_seen(&self) -> String {
        self.script.seen.lock().expect("not poisoned").last().cloned().unwrap_or_default()
    }

    /// The reply's lines, joined.
    pub fn ask(&self, question: &str) -> String {
        answer(&self.service, question).trim().replace('\n', " / ")
    }

    #[track_caller]
    pub fn check(&self, question: &str, expected: &str) {
        assert_eq!(self.ask(question), expected, "{question}");
    }

    /// Waits until the source received so many queries and its reply had time to be cached.
    #[track_caller]
    pub fn wait_for_queries(&self, times: usize) {
        let start = Instant::now();
        while self.queries() < times {
            assert!(start.elapsed() < Duration::from_secs(5), "{} queries, not {times}", self.queries());
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(self.queries(), times);
    }

    /// Repeats the query until the answer is this one.
    #[track_caller]
    pub fn eventually(&self, question: &str, expected: &str) {
        let start = Instant::now();
        while self.ask(question) != expected {
            assert!(start.elapsed() < Duration::from_secs(5), "still {}", self.ask(question));
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

pub fn advance_clock(seconds: u64) {
    Clock::advance(Duration::from_secs(seconds));
}

struct Source {
    script: Arc<Script>,
}

impl Plugin for Source {
    fn name(&self) -> &'static str {
        "source"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        self.script.queries.fetch_add(1, Ordering::SeqCst);
        let ad = if visit.query.flags.has(Flags::AD) { " ad" } else { "" };
        let seen = format!("{}{ad}", visit.client.transport.proto());
        self.script.seen.lock().expect("not poisoned").push(seen);
        let (reply, delay) = self.script.reply.lock().expect("not poisoned").clone();
        if delay.is_zero() {
            return scripted(&reply, visit);
        }
        let sleep = async move { tokio::time::sleep(delay).await };
        Step::Wait(task(sleep, move |(), visit| scripted(&reply, visit)))
    }
}

impl Metadata for Source {
    fn value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        let wild = view.query.question.lower().to_string().starts_with("wild.");
        // Known only to the plugin that made the reply; a hit never gets here.
        let passed = view.slot().is_some_and(|slot| slot.words[3] == 1);
        (label == "zone/wildcard" && wild && passed).then(|| "*.example.".to_owned())
    }
}

/// `a TTL ADDRESS`, `nxdomain TTL`, `chain TTL` and so on.
fn scripted(script: &str, visit: &mut Visit<'_>) -> Step {
    visit.slot().words[3] = 1;
    let words: Vec<&str> = script.split(' ').collect();
    let ttl = words.get(1).map_or(0, |ttl| ttl.parse().expect("a TTL"));
    let qtype = visit.query.question.qtype;
    let reply = visit.begin();
    match words[0] {
        "a" => push_a(reply, ttl, words[2]),
        "aa" => {
            reply.flags = Flags(reply.flags.0 | Flags::AA.0 | Flags::AD.0 | Flags::RA.0);
            push_a(reply, ttl, words[2]);
        }
        "nxdomain" => {
            reply.rcode = Rcode::NXDOMAIN;
            push_soa(reply, ttl);
        }
        "nxdomain-alone" => reply.rcode = Rcode::NXDOMAIN,
        "nodata" => push_soa(reply, ttl),
        "empty" => {}
        "referral" => reply.push(Section::Authority, Owner::Question(0), Rtype::NS, ttl, b"\x02ns\0"),
        "alias" => push_cname(reply, ttl),
        "alias-nodata" => {
            push_cname(reply, ttl);
            push_soa(reply, ttl);
        }
        "alias-a" => {
            push_cname(reply, ttl);
            let owner = reply.store(name("target.example.").as_name());
            reply.push(Section::Answer, owner, qtype, ttl + 10, &[10, 0, 0, 7]);
        }
        "no-reply" => {
            reply.flags.set(Flags::QR, false);
            push_a(reply, ttl, words[2]);
        }
        "tc" => {
            reply.flags.set(Flags::TC, true);
            push_a(reply, ttl, "10.0.0.1");
        }
        "servfail" => reply.rcode = Rcode::SERVFAIL,
        "notimp" => reply.rcode = Rcode::NOTIMP,
        "refused" => reply.rcode = Rcode::REFUSED,
        "fail" => return Step::error(Rcode::SERVFAIL, "the source is down"),
        "fail-silent" => return Step::fail(Rcode::SERVFAIL),
        "fail-refused" => return Step::error(Rcode::REFUSED, "not for you"),
        "drop" => return Step::Drop,
        "panic" => panic!("as scripted"),
        _ => panic!("unknown script {script}"),
    }
    Step::Answer
}

fn name(text: &str) -> NameBuf {
    NameBuf::parse(text).expect("a name")
}

fn push_a(reply: &mut Reply, ttl: u32, address: &str) {
    let address: std::net::Ipv4Addr = address.parse().expect("an address");
    reply.push(Section::Answer, Owner::Question(0), Rtype::A, ttl, &address.octets());
}

fn push_cname(reply: &mut Reply, ttl: u32) {
    reply.push(Section::Answer, Owner::Question(0), Rtype::CNAME, ttl, name("target.example.").wire());
}

fn push_soa(reply: &mut Reply, ttl: u32) {
    let owner = reply.store(name("example.").as_name());
    reply.push(Section::Authority, owner, Rtype::SOA, ttl, SOA);
}

/// Notes the wildcard, as `log` with its metadata would.
struct Reader;

impl Plugin for Reader {
    fn name(&self) -> &'static str {
        "reader"
    }

    fn hooks(&self) -> Hooks {
        Hooks::RECORDS
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let wildcard = visit.metadata("zone/wildcard").unwrap_or_else(|| "none".to_owned());
        visit.note(|_| wildcard);
        Turn::Up
    }
}

/// Looks names with `self` in them up again through the whole server, as plugins do that follow aliases.
struct SelfLookup;

impl Plugin for SelfLookup {
    fn name(&self) -> &'static str {
        "lookup"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        if visit.depth() > 0 || !visit.query.question.lower().to_string().contains("self") {
            return Step::Next;
        }
        let again = visit.query.question.name().to_buf();
        match visit.lookup(again.as_name(), Rtype::A) {
            server::Lookup::Ready(found) => {
                visit.adopt(&found);
                Step::Answer
            }
            server::Lookup::Pending(below) => Step::Wait(task(below, |found, visit| {
                visit.adopt(&found);
                Step::Answer
            })),
        }
    }
}

/// Excludes names with `dynamic` in them from caches.
struct Bypass;

impl Plugin for Bypass {
    fn name(&self) -> &'static str {
        "bypass"
    }
}

impl CacheBypass for Bypass {
    fn bypasses_cache(&self, query: &Query) -> bool {
        query.question.lower().to_string().contains("dynamic")
    }
}
