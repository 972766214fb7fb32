//! Which replies that pass a plugin are given again: a table of plugins, questions and whether each asking walks.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use server::{
    Availability, Client, Exchange, Input, Lasting, Plugin, PluginSpec, Repeating, Replied, Sent, Service,
    Step, Transport, Visit, config,
};
use wire::{Edns, EdnsOption, NameBuf, Owner, Query, Rtype, Section, option};

thread_local! {
    // Setup runs on the test's own thread, which is how it gets hold of its source.
    static WALKS: RefCell<Arc<AtomicU32>> = RefCell::default();
}

/// Answers everything, with the number of the walk as the address, and says that each answer lasts.
struct Source {
    walks: Arc<AtomicU32>,
}

impl Plugin for Source {
    fn name(&self) -> &'static str {
        "source"
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let number = self.walks.fetch_add(1, Ordering::Relaxed);
        visit.begin().push(Section::Answer, Owner::Question(0), Rtype::A, 5, &number.to_be_bytes());
        Step::Answer
    }

    fn as_repeating(&self) -> Option<&dyn Repeating> {
        Some(self)
    }
}

impl Repeating for Source {
    fn lasting(&self, _: &mut Sent<'_>) -> Lasting {
        Lasting::Always
    }
}

const SOURCE: PluginSpec = PluginSpec {
    name: "source",
    about: "",
    availability: Availability::Here(|s| {
        s.add(Source { walks: WALKS.with_borrow(Arc::clone) });
        Ok(())
    }),
};

/// A plugin, `|` standing for new lines, before the source.
fn service(plugin: &str) -> Arc<Service> {
    let corefile = format!(".:53 {{\n{}\nsource\n}}\n", plugin.replace('|', "\n"));
    let input = Input { name: "Corefile".into(), contents: corefile.into(), dns_port: "53".into() };
    let plugins: Vec<PluginSpec> = plugins::PLUGINS.iter().copied().chain([SOURCE]).collect();
    let config = config::build(&input, &plugins, &corefile::Disk)
        .unwrap_or_else(|errors| panic!("{plugin}: {}", errors[0]));
    config.services().next().expect("it listens somewhere").1.clone()
}

/// `NAME [TYPE] [do] [nsid]`
fn packet(question: &str, id: u16) -> Vec<u8> {
    let mut words = question.split(' ');
    let name = NameBuf::parse(words.next().unwrap_or_default()).expect("a name");
    let mut query = Query::ask(name.as_name(), Rtype::A);
    query.id = id;
    let edns = Edns { udp_size: 4096, version: 0, extended_rcode: 0, flags: 0 };
    for word in words {
        match word {
            "do" => query.edns.get_or_insert(edns).flags = Edns::DO,
            "nsid" => {
                query.edns.get_or_insert(edns);
                query.set_options(&[EdnsOption { code: option::NSID, data: b"" }]);
            }
            word => query.question.qtype = Rtype::from_mnemonic(word).expect("a type"),
        }
    }
    query.to_packet()
}

#[test]
fn what_passes_a_plugin() {
    // What is given again walks twice: the first time, and the second, when it is kept.
    const AGAIN: u32 = 2;
    const NEVER: u32 = 4;
    let metadata = "metadata|rewrite name regex ^x-(.*) {1}.{request/ip} metadata";
    for (plugin, question, walks) in [
        ("bufsize 512", "a.example do", AGAIN),
        ("nsid here", "a.example nsid", AGAIN),
        ("header {|query set rd|response set ra|}", "a.example", AGAIN),
        ("any", "a.example", AGAIN),
        ("minimal", "a.example", AGAIN),
        ("minimal", "a.example do", NEVER),
        ("errors", "a.example", AGAIN),
        ("loadbalance", "a.example", AGAIN),
        ("log", "a.example", NEVER),
        ("log other.example", "a.example", AGAIN),
        ("log . {|class error|}", "a.example", AGAIN),
        ("log . {|class denial error|}", "a.example", AGAIN),
        ("log . {|class success|}", "a.example", NEVER),
        ("log . {|class all|}", "a.example", NEVER),
        ("template IN A other.example {|answer \"{{ .Name }} 5 IN A 10.0.0.1\"|}", "a.example", AGAIN),
        ("template IN MX example {|fallthrough|}", "a.example", AGAIN),
        ("template IN A example {|match ^x|rcode NXDOMAIN|fallthrough|}", "a.example", NEVER),
        ("rewrite name x.example y.example", "a.example", AGAIN),
        ("rewrite name x.example y.example", "x.example", NEVER),
        ("rewrite ttl exact a.example 9", "a.example", NEVER),
        ("rewrite ttl exact a.example 9", "b.example", AGAIN),
        ("rewrite type MX A|rewrite rcode exact x.example NXDOMAIN NOERROR", "a.example", AGAIN),
        ("rewrite edns0 local set 0xffee 0x61", "a.example", NEVER),
        (metadata, "a.example", NEVER),
        ("hosts {|10.0.0.1 h.example|fallthrough|}", "a.example", AGAIN),
        ("hosts /etc/hosts other.example {|10.0.0.1 h.example|}", "a.example", AGAIN),
        ("acl {|allow net 127.0.0.1|}", "a.example", NEVER),
        ("local", "a.example", NEVER),
    ] {
        let counted = Arc::new(AtomicU32::new(0));
        WALKS.set(Arc::clone(&counted));
        let (repeating, walking) = (service(plugin), service(plugin));
        let here = SocketAddr::from(([127, 0, 0, 1], 53));
        let client = Client { remote: here, local: here, transport: Transport::Udp };
        let ask = |exchange: &mut Exchange, service, id| {
            let mut out = Vec::new();
            let replied = exchange.answer(service, client, &packet(question, id), &mut out);
            assert_eq!(replied, Replied::Yes, "{plugin} {question}");
            out
        };
        let mut exchange = Exchange::new();
        let replies: Vec<Vec<u8>> = (0..4).map(|id| ask(&mut exchange, &repeating, id)).collect();
        assert_eq!(counted.load(Ordering::Relaxed), walks, "{plugin} {question}");
        // But for the number of the walk and the id it is what a walk makes.
        counted.store(walks - 1, Ordering::Relaxed);
        assert_eq!(ask(&mut Exchange::walking(), &walking, 3), replies[3], "{plugin} {question}");
    }
}
