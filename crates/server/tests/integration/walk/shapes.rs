//! Small plugins, each modelled on a real one.

use std::collections::HashMap;
use std::future::Future;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use corefile::Diagnostic;
use server::http::{HttpAnswer, Method, Route};
use server::{
    Availability, Hooks, Lookup, LookupResult, Message, Messages, Outcome, Part, Plugin, PluginSpec, Sent,
    Setup, Step, StreamError, Turn, Visit, task,
};
use tokio::sync::watch;
use wire::{Class, Name, NameBuf, Owner, Query, Question, Rcode, Reply, Rtype, Section};

/// How long names with `slow` in them take.
pub const SLOW: Duration = Duration::from_millis(200);

static DATA_ASKED: AtomicUsize = AtomicUsize::new(0);
static DATA_ANSWERED: AtomicUsize = AtomicUsize::new(0);
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

pub fn reset() {
    DATA_ASKED.store(0, Ordering::SeqCst);
    DATA_ANSWERED.store(0, Ordering::SeqCst);
    PRODUCED.store(0, Ordering::SeqCst);
    SEEN.lock().expect("not poisoned").clear();
}

pub fn data_asked() -> usize {
    DATA_ASKED.load(Ordering::SeqCst)
}

pub fn data_answered() -> usize {
    DATA_ANSWERED.load(Ordering::SeqCst)
}

pub fn seen() -> Vec<String> {
    SEEN.lock().expect("not poisoned").clone()
}

pub static PLUGINS: &[PluginSpec] = &[
    spec("bind_loopback", |s| {
        s.listen_on(vec!["127.0.0.1".into()]);
        Ok(())
    }),
    spec("page", |s| {
        s.c.next();
        let [addr] = s.c.remaining_args()[..] else { return Err(s.c.arg_err()) };
        let addr = addr.to_owned();
        s.http(Route::new(addr.clone(), "/page", |_| HttpAnswer::text(200, "a page")));
        let echo = Route::deferred(addr, "/echo", |request| {
            let text = format!("{} {}", request.query(), String::from_utf8_lossy(&request.body));
            Box::pin(async { HttpAnswer::text(200, text) })
        });
        s.http(echo.methods(&[Method::POST, Method::PUT]).body_limit(8));
        Ok(())
    }),
    spec("ticks", |s| {
        s.every("ticks", Duration::from_millis(5), || {
            TICKS.fetch_add(1, Ordering::SeqCst);
        });
        Ok(())
    }),
    spec("deadline", |s| add(s, Deadline)),
    spec("observe", |s| add(s, Observe)),
    spec("total", |s| add(s, Total)),
    spec("hasty", |s| {
        s.settings().write_timeout = Some(Duration::from_millis(300));
        s.settings().idle_timeout = Some(Duration::from_millis(300));
        Ok(())
    }),
    spec("tsig", |s| add(s, Tsig)),
    spec("dns64", |s| add(s, Dns64)),
    spec("rewrite", |s| add(s, Rewrite)),
    spec("autopath", |s| add(s, Autopath)),
    spec("acl", |s| add(s, Acl)),
    spec("cache", |s| add(s, Cache::default())),
    spec("panics", |s| {
        let later = speed(s);
        add(s, Panics { later })
    }),
    spec("transfer", |s| add(s, Transfer)),
    spec("forward", |s| {
        let later = speed(s);
        add(s, Forward { later })
    }),
    spec("data", |s| {
        let later = speed(s);
        add(s, Data { later })
    }),
];

const fn spec(name: &'static str, setup: server::SetupFn) -> PluginSpec {
    PluginSpec { name, about: "", availability: Availability::Available(setup) }
}

fn add(setup: &mut Setup<'_>, plugin: impl Plugin) -> Result<(), Diagnostic> {
    setup.add(plugin);
    Ok(())
}

fn speed(setup: &mut Setup<'_>) -> bool {
    setup.c.next();
    setup.c.remaining_args() == ["later"]
}

fn name(text: &str) -> NameBuf {
    NameBuf::parse(text).expect("a name")
}

fn is(query: &Query, text: &str) -> bool {
    query.question.lower() == name(text).as_name()
}

fn push_a(reply: &mut Reply, ttl: u32, address: [u8; 4]) {
    reply.push(Section::Answer, Owner::Question(0), Rtype::A, ttl, &address);
}

/// The data that the other plugins use, immediate or delayed.
struct Data {
    later: bool,
}

impl Data {
    fn answer(visit: &mut Visit<'_>) -> Step {
        let text = visit.query.question.lower().to_string();
        let qtype = visit.query.question.qtype;
        // The first query for this name fails.
        if text.starts_with("once-failing.") && data_answered() == 0 {
            DATA_ANSWERED.fetch_add(1, Ordering::SeqCst);
            return Step::error(Rcode::SERVFAIL, "failed this once");
        }
        DATA_ANSWERED.fetch_add(1, Ordering::SeqCst);
        let reply = visit.begin();
        match text.as_str() {
            "web.search.example." => push_a(reply, 30, [10, 0, 0, 1]),
            "v4only.example." if qtype == Rtype::AAAA => {}
            "v4only.example." => push_a(reply, 30, [10, 0, 0, 2]),
            "new.example." => push_a(reply, 30, [10, 0, 0, 3]),
            "alias.example." => {
                let target = name("old.example.");
                reply.push(Section::Answer, Owner::Question(0), Rtype::CNAME, 30, target.wire());
            }
            "large.example." => (0..100).for_each(|i| push_a(reply, 30, [10, 1, 0, i])),
            "broken-data.example." => return Step::error(Rcode::SERVFAIL, "the data is broken"),
            text if text.contains("slow") || text.contains("quick") || text.contains("prefetch") => {
                push_a(reply, 30, [10, 0, 0, 9]);
            }
            _ => reply.rcode = Rcode::NXDOMAIN,
        }
        Step::Answer
    }
}

impl Plugin for Data {
    fn name(&self) -> &'static str {
        "data"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        DATA_ASKED.fetch_add(1, Ordering::SeqCst);
        let slow = visit.query.question.lower().to_string().contains("slow");
        match (slow, self.later) {
            (true, _) => Step::Wait(task(tokio::time::sleep(SLOW), |(), visit| Data::answer(visit))),
            (_, true) => Step::Wait(task(tokio::time::sleep(Duration::from_millis(3)), |(), visit| {
                Data::answer(visit)
            })),
            _ => Data::answer(visit),
        }
    }
}

/// Records the outcomes on the way up.
struct Observe;

impl Plugin for Observe {
    fn name(&self) -> &'static str {
        "observe"
    }

    fn hooks(&self) -> Hooks {
        Hooks::ANY_REPLY | Hooks::PARTS
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let text = match visit.outcome() {
            Outcome::Records => "records".to_owned(),
            Outcome::Drop => "drop".to_owned(),
            Outcome::Failure => {
                format!("failure {}: {}", visit.reply.rcode, visit.error().unwrap_or("no reason"))
            }
        };
        SEEN.lock().expect("not poisoned").push(text);
        Turn::Up
    }
}

struct Deadline;

impl Plugin for Deadline {
    fn name(&self) -> &'static str {
        "deadline"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        visit.limit_time(SLOW / 4);
        Step::Next
    }
}

/// autopath: on NXDOMAIN walks again with the next name of the search path.
struct Autopath;

const SEARCH: [&str; 2] = ["search.example.", "elsewhere.example."];

impl Plugin for Autopath {
    fn name(&self) -> &'static str {
        "autopath"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::RECORDS
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        visit.slot().words[0] =
            u64::from(visit.query.question.lower().is_under(name("pod.example.").as_name()));
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let tried = visit.slot().words[0] as usize;
        if tried == 0 {
            return Turn::Up;
        }
        if tried == 1 && visit.reply.rcode == Rcode::NXDOMAIN {
            // The client gets the first reply if no name exists.
            visit.slot().boxed = Some(Box::new(visit.reply.clone()));
        }
        if visit.reply.rcode == Rcode::NXDOMAIN {
            if let Some(search) = SEARCH.get(tried - 1) {
                visit.slot().words[0] += 1;
                let mut next = name(search);
                let host = visit.query.question.name().labels().next().unwrap_or_default().to_vec();
                next.prepend(&host);
                let question = Question::new(next.as_name(), visit.query.question.qtype, Class::IN);
                visit.ask(question);
                return Turn::Again;
            }
            if let Some(first) = visit.slot().boxed.take().and_then(|boxed| boxed.downcast::<Reply>().ok()) {
                visit.reply.copy_from(&first);
            }
            return Turn::Up;
        }
        if let Some(found) = visit.asked().cloned() {
            // The CNAME goes first: rebuild the reply with the records after it.
            let old = visit.reply.clone();
            let reply = visit.begin();
            reply.push(Section::Answer, Owner::Question(0), Rtype::CNAME, 30, found.name().wire());
            for record in old.section(Section::Answer) {
                let owner = reply.store(old.owner(record, found.name()));
                reply.push(Section::Answer, owner, record.rtype, record.ttl, old.data(record));
            }
        }
        Turn::Up
    }
}

/// dns64: no AAAA, so the A records are looked up and translated.
struct Dns64;

impl Dns64 {
    fn translate(found: &LookupResult, visit: &mut Visit<'_>) {
        let addresses: Vec<[u8; 4]> = found
            .reply()
            .section(Section::Answer)
            .iter()
            .filter(|record| record.rtype == Rtype::A)
            .filter_map(|record| found.reply().data(record).try_into().ok())
            .collect();
        let reply = visit.begin();
        for address in addresses {
            let [a, b] = u32::from(Ipv4Addr::from(address)).to_be_bytes().as_chunks::<2>().0.to_vec()[..]
            else {
                continue;
            };
            let six = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, u16::from_be_bytes(a), u16::from_be_bytes(b));
            reply.push(Section::Answer, Owner::Question(0), Rtype::AAAA, 30, &six.octets());
        }
    }
}

impl Plugin for Dns64 {
    fn name(&self) -> &'static str {
        "dns64"
    }

    fn hooks(&self) -> Hooks {
        Hooks::RECORDS
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let empty = visit.reply.rcode == Rcode::NOERROR && visit.reply.records().is_empty();
        if visit.query.question.qtype != Rtype::AAAA || !empty {
            return Turn::Up;
        }
        let asked = visit.query.question.name().to_buf();
        match visit.lookup(asked.as_name(), Rtype::A) {
            Lookup::Ready(found) => {
                Dns64::translate(&found, visit);
                Turn::Up
            }
            Lookup::Pending(below) => Turn::Wait(task(below, |found, visit| {
                Dns64::translate(&found, visit);
                Turn::Up
            })),
        }
    }
}

/// rewrite: names on the way down, targets of CNAMEs on the way up.
struct Rewrite;

impl Rewrite {
    fn follow(found: &LookupResult, visit: &mut Visit<'_>) -> Turn {
        let target = name("new.example.");
        let records: Vec<(u32, Vec<u8>)> = found
            .reply()
            .section(Section::Answer)
            .iter()
            .map(|r| (r.ttl, found.reply().data(r).to_vec()))
            .collect();
        let reply = visit.begin();
        reply.push(Section::Answer, Owner::Question(0), Rtype::CNAME, 30, target.wire());
        let owner = reply.store(target.as_name());
        for (ttl, data) in records {
            reply.push(Section::Answer, owner, Rtype::A, ttl, &data);
        }
        Turn::Up
    }
}

impl Plugin for Rewrite {
    fn name(&self) -> &'static str {
        "rewrite"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::RECORDS | Hooks::FAILURE | Hooks::PARTS
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let to = match visit.query.question.lower().to_string().as_str() {
            "shop.example." | "raw.example." => "web.search.example.",
            "fails.example." => "broken-data.example.",
            _ => return Step::Next,
        };
        let question = Question::new(name(to).as_name(), visit.query.question.qtype, Class::IN);
        visit.ask(question);
        Step::Next
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        if visit.outcome() == Outcome::Failure {
            return Turn::Up;
        }
        if visit.asked().is_some() && !is(visit.query, "raw.example.") {
            for record in visit.reply.section_mut(Section::Answer) {
                record.owner = Owner::Question(0);
            }
        }
        let replaced = name("old.example.");
        let hit = visit
            .reply
            .section(Section::Answer)
            .iter()
            .any(|record| visit.reply.data(record) == replaced.wire());
        if !hit {
            return Turn::Up;
        }
        match visit.lookup(name("new.example.").as_name(), Rtype::A) {
            Lookup::Ready(found) => Rewrite::follow(&found, visit),
            Lookup::Pending(below) => Turn::Wait(task(below, |found, visit| Rewrite::follow(&found, visit))),
        }
    }
}

/// transfer: several messages for one query. The first label of an AXFR decides what happens.
struct Transfer;

/// Messages that were produced by the stream of the current test.
pub static PRODUCED: AtomicUsize = AtomicUsize::new(0);

/// Records of the largest messages, which have more than 60 kB.
const LARGE: usize = 4000;

struct Zone {
    kind: String,
    left: u8,
    waiting: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Messages for Zone {
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        message: &mut Message<'_>,
    ) -> Poll<Result<Part, StreamError>> {
        if self.kind == "waits" {
            let pause = Duration::from_millis(10);
            ready!(
                self.waiting
                    .get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)))
                    .as_mut()
                    .poll(context)
            );
            self.waiting = None;
        }
        match (self.kind.as_str(), self.left) {
            ("breaks", 3) => return Poll::Ready(Err(StreamError::new("the journal is gone"))),
            ("fails-at-once", _) => return Poll::Ready(Err(StreamError::new("no zone yet"))),
            ("panics", 3) => panic!("in the middle"),
            ("sleeps", 3) => return Poll::Pending,
            ("oversize", 3) => (0..2 * LARGE).for_each(|_| push_a(message.reply, 30, [10, 0, 7, 1])),
            ("endless", _) => {
                (0..LARGE).for_each(|_| push_a(message.reply, 30, [10, 0, 7, 1]));
                PRODUCED.fetch_add(1, Ordering::SeqCst);
                return Poll::Ready(Ok(Part::More));
            }
            _ => {}
        }
        for _ in 0..self.left.min(2) {
            push_a(message.reply, 30, [10, 0, 7, self.left]);
            self.left -= 1;
        }
        PRODUCED.fetch_add(1, Ordering::SeqCst);
        Poll::Ready(Ok(if self.left == 0 || self.kind == "short" { Part::Last } else { Part::More }))
    }
}

impl Plugin for Transfer {
    fn name(&self) -> &'static str {
        "transfer"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        if !matches!(visit.query.question.qtype, Rtype::AXFR | Rtype::IXFR) {
            return Step::Next;
        }
        let name = visit.query.question.lower().to_string();
        let kind = name.split('.').next().unwrap_or_default().to_owned();
        Step::Stream(Box::new(Zone { kind, left: 5, waiting: None }))
    }
}

/// Like `log`: sees only the last message, with the size of all.
struct Total;

impl Plugin for Total {
    fn name(&self) -> &'static str {
        "total"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::RECORDS | Hooks::FAILURE | Hooks::SENT
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        note(match visit.outcome() {
            Outcome::Records => format!("records, {} octets", visit.reply_len()),
            _ => format!("{}: {}", visit.reply.rcode, visit.error().unwrap_or_default()),
        });
        Turn::Up
    }

    fn sent(&self, _sent: &mut Sent<'_>, packet: &[u8]) {
        note(format!("sent {}", packet.len()));
    }
}

fn note(text: String) {
    SEEN.lock().expect("not poisoned").push(text);
}

/// The largest signature of `tsig`.
const SIGNATURE_ROOM: u16 = 40;

/// tsig: reads the raw query and adds a record to the final bytes.
struct Tsig;

impl Plugin for Tsig {
    fn name(&self) -> &'static str {
        "tsig"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::SIGN
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        visit.reserve(SIGNATURE_ROOM);
        if is(visit.query, "unsigned.example.") {
            return Step::fail(Rcode::REFUSED);
        }
        visit.slot().words[0] = visit.query.packet().len() as u64;
        Step::Next
    }

    fn sign(&self, sent: &mut Sent<'_>, packet: &mut Vec<u8>) {
        let text = format!("{} {}", packet.len(), sent.slot().words[0]);
        packet.extend_from_slice(&[0, 0, 16, 0, 255, 0, 0, 0, 0]);
        packet.extend_from_slice(&(text.len() as u16 + 1).to_be_bytes());
        packet.push(text.len() as u8);
        packet.extend_from_slice(text.as_bytes());
        let additional = u16::from_be_bytes([packet[10], packet[11]]) + 1;
        packet[10..12].copy_from_slice(&additional.to_be_bytes());
    }
}

/// Where a follower gets its leader's answer.
type Following = watch::Receiver<Option<[u8; 4]>>;

/// cache: stale records verified below, prefetch without a client, followers behind a leader.
#[derive(Clone, Default)]
struct Cache {
    leaders: Arc<Mutex<HashMap<String, Following>>>,
}

impl Cache {
    fn stale(visit: &mut Visit<'_>) -> Step {
        push_a(visit.begin(), 0, [10, 9, 9, 9]);
        Step::Answer
    }

    /// Looks for a leader and, under the same lock, becomes one if there is none.
    fn join(&self, visit: &mut Visit<'_>) -> Option<Following> {
        let key = visit.query.question.lower().to_string();
        let mut leaders = self.leaders.lock().expect("not poisoned");
        if let Some(follower) = leaders.get(&key) {
            return Some(follower.clone());
        }
        let (leader, follower) = watch::channel(None);
        leaders.insert(key, follower);
        visit.slot().boxed = Some(Box::new(leader));
        None
    }
}

impl Plugin for Cache {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn hooks(&self) -> Hooks {
        Hooks::QUERY | Hooks::RECORDS | Hooks::FAILURE
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let text = visit.query.question.lower().to_string();
        if text.starts_with("stale.") {
            let below = tokio_spawn(visit.walk_below());
            let race = tokio::time::timeout(SLOW / 4, below);
            return Step::Wait(task(race, |result, visit| match result {
                Ok(Ok(found)) => {
                    visit.adopt(&found);
                    Step::Answer
                }
                _ => Cache::stale(visit),
            }));
        }
        if text.starts_with("prefetch.") {
            tokio_spawn(visit.walk_below());
            return Cache::stale(visit);
        }
        if !(text.starts_with("herd.") || text.starts_with("once-failing.")) {
            return Step::Next;
        }
        let this = self.clone();
        match self.join(visit) {
            None => Step::Next,
            Some(mut follower) => Step::Wait(task(
                async move { follower.wait_for(Option::is_some).await.ok().and_then(|found| *found) },
                move |found, visit| match found {
                    Some(address) => {
                        push_a(visit.begin(), 30, address);
                        Step::Answer
                    }
                    // The leader failed. Query again; the first becomes the leader.
                    None => this.query(visit),
                },
            )),
        }
    }

    fn reply(&self, visit: &mut Visit<'_>) -> Turn {
        let Some(leader) = visit
            .slot()
            .boxed
            .take()
            .and_then(|boxed| boxed.downcast::<watch::Sender<Option<[u8; 4]>>>().ok())
        else {
            return Turn::Up;
        };
        // A reply stays, as in a cache; a failure lets the next query lead.
        if visit.outcome() != Outcome::Records {
            self.leaders.lock().expect("not poisoned").remove(&visit.query.question.lower().to_string());
        } else {
            let answer = visit.reply.section(Section::Answer).first();
            let address = answer.and_then(|record| visit.reply.data(record).try_into().ok());
            leader.send_replace(address);
        }
        Turn::Up
    }
}

fn tokio_spawn(below: server::NestedWalk) -> tokio::task::JoinHandle<LookupResult> {
    server::runtime::handle().spawn(below)
}

/// forward with `next`: a miss upstream goes on to the next plugin.
struct Forward {
    later: bool,
}

impl Forward {
    fn upstream(visit: &mut Visit<'_>) -> Step {
        if is(visit.query, "upstream.example.") {
            push_a(visit.begin(), 30, [192, 0, 2, 1]);
            return Step::Answer;
        }
        if is(visit.query, "broken.example.") {
            return Step::error(Rcode::SERVFAIL, "no healthy proxies");
        }
        Step::Next
    }
}

impl Plugin for Forward {
    fn name(&self) -> &'static str {
        "forward"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        match self.later {
            true => Step::Wait(task(tokio::time::sleep(Duration::from_millis(3)), |(), visit| {
                Forward::upstream(visit)
            })),
            false => Forward::upstream(visit),
        }
    }
}

/// acl: drops or blocks.
struct Acl;

impl Plugin for Acl {
    fn name(&self) -> &'static str {
        "acl"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        if is(visit.query, "dropped.example.") {
            return Step::Drop;
        }
        if is(visit.query, "blocked.example.") {
            return Step::error(Rcode::REFUSED, "blocked by acl");
        }
        Step::Next
    }
}

/// Panics for one name, at once or after waiting, with the question replaced.
struct Panics {
    later: bool,
}

impl Plugin for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        if !is(visit.query, "panic.example.") {
            return Step::Next;
        }
        let changed = Question::new(Name::ROOT, Rtype::TXT, Class::IN);
        visit.ask(changed);
        if self.later {
            return Step::Wait(task(tokio::time::sleep(Duration::from_millis(3)), |(), _| {
                panic!("after waiting")
            }));
        }
        panic!("at once");
    }
}

static TICKS: AtomicUsize = AtomicUsize::new(0);

/// How often the work of `ticks` ran.
pub fn ticks() -> usize {
    TICKS.load(Ordering::SeqCst)
}
