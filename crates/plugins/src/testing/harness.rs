//! Test harness for plugins: a Corefile and a question in, text out.

use std::net::SocketAddr;
use std::sync::Arc;

use server::http::{HttpAnswer, HttpRequest, Route};
use server::{Client, Config, ExplainedReply, Input, Purpose, Service, Transport, config};
use wire::{Class, Edns, EdnsOption, Flags, NameBuf, Opcode, Query, Reply, Rtype};

/// The configuration of a Corefile, or its first error.
pub fn configure(corefile: &str) -> Result<Config, String> {
    let input = Input { name: "Corefile".into(), contents: corefile.into(), dns_port: "53".into() };
    config::build(&input, crate::PLUGINS, &corefile::Disk).map_err(|errors| errors[0].to_string())
}

/// The answer of a route to a GET.
pub fn page(route: &Route) -> HttpAnswer {
    server::runtime::handle().block_on(route.answer(HttpRequest::get(route.path)))
}

/// The error of a Corefile that must not load.
pub fn refused(corefile: &str) -> String {
    match configure(corefile) {
        Ok(_) => panic!("this Corefile should be refused:\n{corefile}"),
        Err(error) => error,
    }
}

/// The only service of a Corefile that must load.
pub fn service(corefile: &str) -> Arc<Service> {
    let config = configure(corefile).unwrap_or_else(|error| panic!("{error}\n{corefile}"));
    config.services().next().expect("the Corefile listens somewhere").1.clone()
}

/// Sends the query `NAME TYPE [words]`; words: `tcp`, `do`, `size=N`, `nsid`, `from=IP`, `class=CH`, `rd`, `cd`, `ad`, `notify`.
pub fn ask(service: &Arc<Service>, question: &str) -> ExplainedReply {
    ask_for(service, question, Purpose::Serve)
}

pub fn ask_for(service: &Arc<Service>, question: &str, purpose: Purpose) -> ExplainedReply {
    let (packet, client) = packet(question);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(service.answer(&packet, client, purpose))
}

/// The reply as text: rcode and flags, then a line per record; `dropped` without a reply.
pub fn answer(service: &Arc<Service>, question: &str) -> String {
    present(&ask(service, question))
}

/// Checks the reply's text of one question on one Corefile.
pub fn check(corefile: &str, question: &str, expected: &str) {
    let got = answer(&service(corefile), question);
    let expected: String = expected.lines().map(|line| format!("{}\n", line.trim())).collect::<String>();
    assert_eq!(got.trim(), expected.trim(), "{question}\n{corefile}");
}

pub fn present(answered: &ExplainedReply) -> String {
    let Some(packet) = &answered.packet else { return "dropped\n".into() };
    let mut reply = Reply::new();
    let (_, question) = reply.decode(packet).expect("our own reply decodes");
    let mut text = reply.present(&question);
    if let Some(opt) = &reply.opt {
        let options: Vec<String> =
            opt.options().map(|o| format!(" {}:{}", o.code, String::from_utf8_lossy(o.data))).collect();
        let dnssec = if opt.flags & Edns::DO != 0 { " do" } else { "" };
        text.push_str(&format!("opt: {}{dnssec}{}\n", opt.udp_size, options.concat()));
    }
    text
}

pub fn packet(question: &str) -> (Vec<u8>, Client) {
    let mut words = question.split_whitespace();
    let name = NameBuf::parse(words.next().expect("a name")).expect("a valid name");
    let qtype = words.next().map_or(Rtype::A, |t| Rtype::from_mnemonic(t).expect("a known type"));
    let mut query = Query::ask(name.as_name(), qtype);
    query.flags = Flags::default();
    query.id = 4711;
    let mut client = Client {
        remote: SocketAddr::from(([10, 240, 0, 1], 40212)),
        local: SocketAddr::from(([127, 0, 0, 1], 53)),
        transport: Transport::Udp,
    };
    let edns = Edns { udp_size: 4096, version: 0, extended_rcode: 0, flags: 0 };
    for word in words {
        match word.split_once('=') {
            Some(("size", size)) => query.edns.get_or_insert(edns).udp_size = size.parse().expect("a size"),
            Some(("from", ip)) => client.remote.set_ip(ip.parse().expect("an address")),
            Some(("class", class)) => query.question.qclass = Class::from_mnemonic(class).expect("a class"),
            None if word == "tcp" => client.transport = Transport::Tcp,
            None if word == "do" => query.edns.get_or_insert(edns).flags = Edns::DO,
            None if word == "nsid" => {
                query.edns.get_or_insert(edns);
                query.set_options(&[EdnsOption { code: wire::option::NSID, data: b"" }]);
            }
            None if word == "notify" => query.opcode = Opcode::NOTIFY,
            None if word == "rd" => query.flags.set(Flags::RD, true),
            None if word == "cd" => query.flags.set(Flags::CD, true),
            None if word == "ad" => query.flags.set(Flags::AD, true),
            _ => panic!("unknown word {word}"),
        }
    }
    (query.to_packet(), client)
}
