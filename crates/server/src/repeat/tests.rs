use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use wire::{Name, NameBuf, Owner, Query, Reply, Rtype, Section};

use crate::{
    Again, Block, BlockSettings, Client, Exchange, Hooks, Lasting, Plugin, Repeating, Replied, Sent, Service,
    Step, Transport, Turn, Visit,
};

/// Counts what comes to it; the one that answers tells how often it did.
struct Counting {
    hooks: Hooks,
    answers: bool,
    /// None: it does not know how long replies hold.
    lasting: Option<Lasting>,
    holds: AtomicBool,
    walked: AtomicU64,
    again: AtomicU64,
    kept: AtomicU64,
    panics: AtomicBool,
}

impl Counting {
    fn new(hooks: Hooks, answers: bool, lasting: Option<Lasting>) -> Arc<Counting> {
        let [walked, again, kept] = [const { AtomicU64::new(0) }; 3];
        let (holds, panics) = (AtomicBool::new(true), AtomicBool::new(false));
        Arc::new(Counting { hooks, answers, lasting, holds, walked, again, kept, panics })
    }

    fn counts(&self) -> (u64, u64) {
        (self.walked.load(Ordering::Relaxed), self.again.load(Ordering::Relaxed))
    }
}

impl Plugin for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let before = self.walked.fetch_add(1, Ordering::Relaxed);
        if !self.answers {
            return Step::Next;
        }
        let reply: &mut Reply = visit.begin();
        reply.push(Section::Answer, Owner::Question(0), Rtype::A, 5, &(before as u32).to_be_bytes());
        Step::Answer
    }

    fn reply(&self, _: &mut Visit<'_>) -> Turn {
        self.walked.fetch_add(1, Ordering::Relaxed);
        Turn::Up
    }

    fn as_repeating(&self) -> Option<&dyn Repeating> {
        self.lasting.is_some().then_some(self)
    }
}

impl Repeating for Counting {
    fn lasting(&self, sent: &mut Sent<'_>) -> Lasting {
        assert_eq!(sent.is_mine(), self.answers);
        assert!(!self.panics.load(Ordering::Relaxed), "told to");
        self.lasting.expect("it was asked whether it knows")
    }

    fn holds(&self, kept: [u64; 2], _: &mut Again<'_>) -> bool {
        self.kept.store(kept[0], Ordering::Relaxed);
        assert!(!self.panics.load(Ordering::Relaxed), "told to");
        self.holds.load(Ordering::Relaxed)
    }

    fn again(&self, kept: [u64; 2], again: &mut Again<'_>) {
        assert_eq!((again.server, kept), ("dns://:53", [self.kept.load(Ordering::Relaxed), 7]));
        self.again.fetch_add(1, Ordering::Relaxed);
    }
}

fn serve(chain: &[Arc<Counting>]) -> Arc<Service> {
    let chain = chain.iter().map(|plugin| Arc::clone(plugin) as Arc<dyn Plugin>).collect();
    let block = Arc::new(Block::new(chain, BlockSettings::default()));
    Arc::new(Service::new("dns://:53".into(), vec![(NameBuf::root(), block)]))
}

/// Asks and gives the address of the answer, the last octet of it.
fn ask(exchange: &mut Exchange, service: &Arc<Service>, packet: &[u8]) -> u8 {
    let here = SocketAddr::from(([127, 0, 0, 1], 53));
    let client = Client { remote: here, local: here, transport: Transport::Udp };
    let mut out = Vec::new();
    assert_eq!(exchange.answer(service, client, packet, &mut out), Replied::Yes);
    assert_eq!(out[..2], packet[..2], "the id is the packet's");
    *out.last().expect("a reply is not empty")
}

fn packet(id: u16) -> Vec<u8> {
    let mut query = Query::ask(NameBuf::parse("www.example.org").expect("a name").as_name(), Rtype::A);
    query.id = id;
    query.to_packet()
}

const KEPT: Option<Lasting> = Some(Lasting::While([3, 7]));
const QUERY: Hooks = Hooks::QUERY;

#[test]
fn the_third_time_a_reply_is_given_again() {
    let above = Counting::new(Hooks::QUERY | Hooks::RECORDS, false, KEPT);
    let fixed = Counting::new(Hooks::RECORDS, false, Some(Lasting::Always));
    let failing = Counting::new(Hooks::FAILURE, false, None);
    let source = Counting::new(QUERY, true, KEPT);
    let beyond = Counting::new(QUERY, true, None);
    let service = serve(&[above.clone(), fixed.clone(), failing, source.clone(), beyond]);
    let mut exchange = Exchange::new();
    let mut asked = |id| ask(&mut exchange, &service, &packet(id));
    assert_eq!([asked(1), asked(2), asked(3), asked(4)], [0, 1, 1, 1]);
    assert_eq!((above.counts(), fixed.counts(), source.counts()), ((4, 2), (2, 0), (2, 2)));
    assert_eq!(source.kept.load(Ordering::Relaxed), 3);
    // One of them says that it is over.
    above.holds.store(false, Ordering::Relaxed);
    assert_eq!([asked(5), asked(6)], [2, 3]);
    above.holds.store(true, Ordering::Relaxed);
    assert_eq!([asked(7), asked(8)], [3, 3]);
    assert_eq!((above.counts(), source.counts()), ((8, 4), (4, 4)));
}

#[test]
fn who_cannot_tell_keeps_replies_out() {
    let plain = |hooks, lasting| Counting::new(hooks, false, lasting);
    let source = || Counting::new(QUERY, true, KEPT);
    let held = || plain(QUERY, KEPT);
    let cases = [
        ("one above does not know", vec![plain(QUERY, None), source()]),
        ("one that sees replies does not know", vec![plain(Hooks::RECORDS, None), source()]),
        ("one that sees the octets does not know", vec![plain(Hooks::SENT, None), source()]),
        ("one says never", vec![plain(QUERY, Some(Lasting::Never)), source()]),
        ("the source does not know", vec![held(), Counting::new(QUERY, true, None)]),
        ("the source says never", vec![held(), Counting::new(QUERY, true, Some(Lasting::Never))]),
        ("more remember something than there is room", vec![held(), held(), held(), source()]),
    ];
    for (what, chain) in cases {
        let service = serve(&chain);
        let mut exchange = Exchange::new();
        let answers: Vec<u8> = (0..4).map(|id| ask(&mut exchange, &service, &packet(id))).collect();
        assert_eq!(answers, [0, 1, 2, 3], "{what}");
    }
}

#[test]
fn what_is_asked_and_whom_makes_the_difference() {
    let source = Counting::new(QUERY, true, KEPT);
    let chain = [source];
    let (service, other) = (serve(&chain), serve(&chain));
    let mut exchange = Exchange::new();
    let mut asked = |service, packet: &[u8]| ask(&mut exchange, service, packet);
    let first = packet(1);
    assert_eq!([asked(&service, &first), asked(&service, &first), asked(&service, &first)], [0, 1, 1]);
    let (mut flags, mut spelling) = (first.clone(), first.clone());
    flags[3] |= 0x20;
    spelling[13] ^= 0x20;
    assert_eq!([asked(&service, &flags), asked(&service, &spelling)], [2, 3]);
    assert_eq!(asked(&service, &first), 1);
    // After a reload nothing of the old configuration is given again.
    assert_eq!([asked(&other, &first), asked(&other, &first)], [4, 4]);
    assert_eq!(asked(&service, &first), 5);
}

/// What is no query, or not one for a block, is never given again.
#[test]
fn what_is_refused_is_refused_each_time() {
    let source = Counting::new(QUERY, true, KEPT);
    let block: Vec<Arc<dyn Plugin>> = vec![source.clone()];
    let block = Arc::new(Block::new(block, BlockSettings::default()));
    let zone = NameBuf::parse("example.com").expect("a name");
    let service = Arc::new(Service::new("dns://:53".into(), vec![(zone, block)]));
    let here = SocketAddr::from(([127, 0, 0, 1], 53));
    let client = Client { remote: here, local: here, transport: Transport::Udp };
    let mut exchange = Exchange::new();
    let mut out = Vec::new();
    let root = Query::ask(Name::ROOT, Rtype::A).to_packet();
    let response = [&[0, 1, 0x81, 0][..], &root[4..]].concat();
    for (what, packet, expected) in [
        ("another zone's", &packet(1)[..], Replied::Yes),
        ("the root's", &root, Replied::Yes),
        ("a response", &response, Replied::No),
        ("half a header", &root[..7], Replied::No),
        ("nothing", &[], Replied::No),
    ] {
        for _ in 0..4 {
            assert_eq!(exchange.answer(&service, client, packet, &mut out), expected, "{what}");
        }
    }
    assert_eq!(source.counts(), (0, 0));
}

/// Neither a reply that cannot be given again nor one that cannot be kept costs the query.
#[test]
fn a_panic_costs_nobody_an_answer() {
    let source = Counting::new(QUERY, true, KEPT);
    let service = serve(std::slice::from_ref(&source));
    let mut exchange = Exchange::new();
    let mut asked = |id| ask(&mut exchange, &service, &packet(id));
    let before = crate::PANICS.get();
    assert_eq!([asked(1), asked(2), asked(3)], [0, 1, 1]);
    source.panics.store(true, Ordering::Relaxed);
    assert_eq!([asked(4), asked(5)], [2, 3]);
    assert_eq!(crate::PANICS.get() - before, 4);
    source.panics.store(false, Ordering::Relaxed);
    assert_eq!(asked(6), 1, "the one that was kept before");
}
