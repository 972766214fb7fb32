//! Behaviour against scripted upstreams; the Corefile forms are in `tests/forms.rs`.

mod bailiwick;
mod forms;
mod parts;
mod reload;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use server::{Client, ExplainedReply, Service, Transport, runtime};
use testkit::client::Transport as Via;
use testkit::scripted_upstream::{Reply, ScriptedUpstream, Step};
use wire::{Edns, Flags, NameBuf, Query, Rtype};

use super::{HEALTHCHECK_BROKEN, MAX_CONCURRENT_REJECTS};
use crate::testing::harness::{present, service};

/// Queries on the process's own runtime, where sockets and health checks survive between queries.
fn ask(service: &Arc<Service>, question: &str) -> ExplainedReply {
    let (packet, client) = packet(question);
    runtime::handle().block_on(service.answer(&packet, client, server::Purpose::Serve))
}

fn answer(service: &Arc<Service>, question: &str) -> String {
    present(&ask(service, question)).trim_end().to_owned()
}

/// `NAME TYPE [tcp] [do] [ad] [cd] [size=N]`, always with RD.
fn packet(question: &str) -> (Vec<u8>, Client) {
    let mut words = question.split_whitespace();
    let name = NameBuf::parse(words.next().expect("a name")).expect("a valid name");
    let qtype = Rtype::from_mnemonic(words.next().expect("a type")).expect("a known type");
    let mut query = Query::ask(name.as_name(), qtype);
    query.id = 4711;
    let mut client = Client {
        remote: SocketAddr::from(([10, 240, 0, 1], 40212)),
        local: SocketAddr::from(([127, 0, 0, 1], 53)),
        transport: Transport::Udp,
    };
    let edns = Edns { udp_size: 1232, version: 0, extended_rcode: 0, flags: 0 };
    for word in words {
        match word.split_once('=') {
            Some(("size", size)) => query.edns.get_or_insert(edns).udp_size = size.parse().expect("a size"),
            None if word == "tcp" => client.transport = Transport::Tcp,
            None if word == "do" => query.edns.get_or_insert(edns).flags = Edns::DO,
            None if word == "ad" => query.flags.set(Flags::AD, true),
            None if word == "cd" => query.flags.set(Flags::CD, true),
            _ => panic!("unknown word {word}"),
        }
    }
    (query.to_packet(), client)
}

/// An upstream that answers every name with its own address.
fn upstream(address: &str) -> ScriptedUpstream {
    let upstream = ScriptedUpstream::start().expect("an upstream");
    upstream.otherwise([a(address)]);
    upstream
}

fn a(address: &str) -> Step {
    Step::address(address, 60).expect("an address")
}

/// Forwards everything to these, in this order unless the options say otherwise.
fn forwarding(to: &[&ScriptedUpstream], options: &str) -> Arc<Service> {
    let to: Vec<String> = to.iter().map(|upstream| upstream.addr().to_string()).collect();
    service(&format!(". {{\n forward . {} {{\n policy sequential\n {options}\n }}\n}}", to.join(" ")))
}

#[test]
fn replies_pass_unchanged() {
    let up = upstream("192.0.2.1");
    up.on(
        "aa",
        [Step::Reply(Reply { flags: 0x0420, ..Reply::rcode(0) }.answer("@ 5 IN A 192.0.2.9").unwrap())],
    );
    up.on(
        "nx",
        [Step::Reply(
            Reply::rcode(3).authority("example. 30 IN SOA ns.example. host.example. 1 2 3 4 5").unwrap(),
        )],
    );
    up.on(
        "more",
        [Step::Reply(
            Reply::rcode(0)
                .answer("@ 5 IN CNAME Other.example.\nOther.example. 5 IN A 192.0.2.7")
                .unwrap()
                .authority("example. 5 IN NS ns.example.")
                .unwrap()
                .additional("ns.example. 5 IN A 192.0.2.8")
                .unwrap(),
        )],
    );
    up.on("lower", [a("192.0.2.1").in_lower_case()]);
    up.on("ext", [Step::Rcode(23)]);
    let service = forwarding(&[&up], "");
    for (question, expected) in [
        ("www.example A", "NOERROR qr,rd,ra\nanswer: www.example. 60 IN A 192.0.2.1"),
        ("www.example AAAA", "NOERROR qr,rd,ra"),
        ("www.example A cd", "NOERROR qr,rd,ra,cd\nanswer: www.example. 60 IN A 192.0.2.1"),
        ("aa.example A", "NOERROR qr,aa,rd,ra,ad\nanswer: aa.example. 5 IN A 192.0.2.9"),
        (
            "nx.example A",
            "NXDOMAIN qr,rd,ra\nauthority: example. 30 IN SOA ns.example. host.example. 1 2 3 4 5",
        ),
        (
            "more.example A",
            "NOERROR qr,rd,ra
             answer: more.example. 5 IN CNAME Other.example.
             answer: Other.example. 5 IN A 192.0.2.7
             authority: example. 5 IN NS ns.example.
             additional: ns.example. 5 IN A 192.0.2.8",
        ),
        // The client gets its own spelling.
        ("LOWER.Example A", "NOERROR qr,rd,ra\nanswer: LOWER.Example. 60 IN A 192.0.2.1"),
        ("www.example A size=4000", "NOERROR qr,rd,ra\nanswer: www.example. 60 IN A 192.0.2.1\nopt: 4000"),
        ("www.example A do", "NOERROR qr,rd,ra\nanswer: www.example. 60 IN A 192.0.2.1\nopt: 1232 do"),
        ("ext.example A do", "BADCOOKIE qr,rd,ra\nopt: 1232 do"),
    ] {
        let expected: Vec<&str> = expected.lines().map(str::trim).collect();
        assert_eq!(answer(&service, question), expected.join("\n"), "{question}");
    }
    assert!(up.seen().iter().all(|seen| seen.transport == Via::Udp));
}

#[test]
fn queries_pass_unchanged() {
    let up = upstream("192.0.2.1");
    let service = forwarding(&[&up], "");
    let mut sent = packet("WwW.example A do ad cd").0;
    ask(&service, "WwW.example A do ad cd");
    let mut seen = up.seen().remove(0).packet;
    seen[..2].fill(0);
    sent[..2].fill(0);
    assert_eq!(seen, sent);
}

#[test]
fn networks() {
    for (options, question, expected) in [
        ("", "www.example A", vec![Via::Udp]),
        ("", "www.example A tcp", vec![Via::Tcp]),
        ("force_tcp", "www.example A", vec![Via::Tcp]),
        ("prefer_udp", "www.example A tcp", vec![Via::Udp]),
        ("force_tcp\n prefer_udp", "www.example A", vec![Via::Tcp]),
        ("prefer_udp", "cut.example A", vec![Via::Udp, Via::Tcp]),
        ("prefer_udp", "cut.example A tcp", vec![Via::Udp, Via::Tcp]),
        ("", "cut.example A", vec![Via::Udp]),
    ] {
        let up = upstream("192.0.2.1");
        up.on("cut", [a("192.0.2.2").truncated()]);
        let reply = answer(&forwarding(&[&up], options), question);
        let seen: Vec<Via> = up.seen().iter().map(|seen| seen.transport).collect();
        assert_eq!(seen, expected, "{options} {question}");
        let cut = options.is_empty() && question.starts_with("cut");
        assert_eq!(reply.starts_with("NOERROR qr,tc,rd,ra"), cut, "{options} {question}: {reply}");
        assert_eq!(reply.contains("192.0.2."), !cut, "{options} {question}: {reply}");
    }
}

#[test]
fn oversize_replies_are_truncated() {
    let up = upstream("192.0.2.1");
    up.otherwise([Step::Oversize]);
    assert_eq!(answer(&forwarding(&[&up], ""), "big.example A"), "NOERROR qr,tc,rd,ra");
    assert!(answer(&forwarding(&[&up], "prefer_udp"), "big.example A tcp").contains("198.18.0.1"));
}

#[test]
fn from_and_except() {
    let up = upstream("192.0.2.1");
    let addr = up.addr();
    let service = service(&format!(
        ". {{\n forward Example.org {addr} {{\n except a.example.org Example.org\n except 10.0.0.0/8\n }}\n erratic {{\n drop 0\n }}\n}}"
    ));
    for (question, forwarded) in
        [("www.example.org A", false), ("example.org A", true), ("a.example.org A", false), ("org A", false)]
    {
        assert_eq!(answer(&service, question).contains("192.0.2.1"), forwarded, "{question}");
    }
    let service = forwarding(&[&up], "except sub.example");
    assert!(answer(&service, "www.example A").contains("192.0.2.1"));
    let asked = ask(&service, "x.SUB.example A");
    assert_eq!(present(&asked).trim_end(), "SERVFAIL qr,rd");
    assert_eq!(asked.error.as_deref(), Some("plugin/forward: no next plugin found"));
}

#[test]
fn policies() {
    let ups = [upstream("192.0.2.1"), upstream("192.0.2.2"), upstream("192.0.2.3")];
    let all: Vec<&ScriptedUpstream> = ups.iter().collect();
    let counts = |policy: &str, queries: usize| {
        ups.iter().for_each(ScriptedUpstream::forget);
        let service = forwarding(&all, &format!("policy {policy}"));
        for _ in 0..queries {
            ask(&service, "www.example A");
        }
        ups.each_ref().map(ScriptedUpstream::total)
    };
    assert_eq!(counts("sequential", 6), [6, 0, 0]);
    assert_eq!(counts("round_robin", 6), [2, 2, 2]);
    // Round robin starts with the second.
    assert_eq!(counts("round_robin", 1), [0, 1, 0]);
    let random = counts("random", 60);
    assert_eq!(random.iter().sum::<usize>(), 60);
    assert!(random.iter().all(|count| *count >= 5), "{random:?}");
}

#[test]
fn the_next_upstream_is_queried_when_one_fails() {
    let [dead, silent, good] = [upstream("192.0.2.1"), upstream("192.0.2.2"), upstream("192.0.2.3")];
    dead.switch_off();
    silent.silence();
    let service = forwarding(&[&dead, &silent, &good], "read_timeout 50ms");
    let asked = ask(&service, "www.example A");
    assert!(present(&asked).contains("192.0.2.3"));
    let notes: Vec<(u8, &str)> = asked.notes.iter().map(|note| (note.depth, note.text.as_str())).collect();
    let [.., (0, answered), (1, first), (1, second), (1, third), _] = notes[..] else { panic!("{notes:?}") };
    for (note, up, text) in [
        (answered, &good, " answered in "),
        (first, &dead, " over udp: read udp "),
        (first, &dead, "connection refused after "),
        (second, &silent, "i/o timeout after 5"),
        (third, &good, " over udp: NOERROR in "),
    ] {
        assert!(note.starts_with(&up.addr().to_string()) && note.contains(text), "{note}");
    }
}

#[test]
fn a_handshake_that_stalls_takes_half_of_the_time() {
    // The kernel accepts the connection; nothing answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let (tls, good) = (silent.local_addr().expect("its address"), upstream("192.0.2.1"));
    let service = service(&format!(
        ". {{\n cancel 1s\n forward . tls://{tls} {} {{\n policy sequential\n }}\n}}",
        good.addr()
    ));
    let start = Instant::now();
    let asked = ask(&service, "www.example A");
    assert!(present(&asked).contains("192.0.2.1"), "{}", present(&asked));
    assert!(start.elapsed() >= Duration::from_millis(450), "{:?}", start.elapsed());
    let failed = format!("{tls} over tls: context deadline exceeded after ");
    assert!(asked.notes.iter().any(|note| note.text.starts_with(&failed)), "{:?}", asked.notes);
}

#[test]
fn attempts_per_upstream() {
    for (options, attempts) in [
        ("", [2, 2]),
        ("max_connect_attempts 1", [1, 0]),
        ("max_connect_attempts 3", [2, 1]),
        ("max_connect_attempts 5", [3, 2]),
    ] {
        let ups = [upstream("192.0.2.1"), upstream("192.0.2.2")];
        ups.iter().for_each(ScriptedUpstream::silence);
        let service =
            forwarding(&[&ups[0], &ups[1]], &format!("read_timeout 20ms\n max_fails 0\n {options}"));
        let asked = ask(&service, "www.example A");
        assert_eq!(present(&asked).trim_end(), "SERVFAIL qr,rd", "{options}");
        assert!(asked.error.is_some_and(|error| error.ends_with("i/o timeout")), "{options}");
        assert_eq!(ups.each_ref().map(|up| up.count("www.example")), attempts, "{options}");
    }
}

#[test]
fn without_a_limit_attempts_end_at_the_deadline() {
    let up = upstream("192.0.2.1");
    up.switch_off();
    let addr = up.addr();
    let service = service(&format!(
        ". {{\n cancel 100ms\n forward . {addr} {{\n max_connect_attempts 0\n max_fails 0\n }}\n}}"
    ));
    let start = Instant::now();
    assert_eq!(answer(&service, "www.example A"), "SERVFAIL qr,rd");
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(90) && took < Duration::from_secs(2), "{took:?}");
}

/// Waits for a condition.
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn upstreams_that_are_down_are_skipped_until_they_are_up() {
    let [first, second] = [upstream("192.0.2.1"), upstream("192.0.2.2")];
    let options = "health_check 10ms\n read_timeout 100ms\n max_fails 1";
    let service = forwarding(&[&first, &second], options);
    first.switch_off();
    assert!(answer(&service, "www.example A").contains("192.0.2.2"));
    let skipped = || {
        let asked = ask(&service, "www.example A");
        asked.notes.iter().any(|note| note.text.contains(&format!("{} is down: ", first.addr())))
    };
    eventually("the first is down", skipped);
    first.switch_on().expect("the port is still ours");
    eventually("the first is up", || answer(&service, "www.example A").contains("192.0.2.1"));
}

#[test]
fn when_all_are_down() {
    let down = |options: &str| {
        let ups = [upstream("192.0.2.1"), upstream("192.0.2.2")];
        let options = format!("health_check 10ms\n read_timeout 50ms\n max_fails 1\n {options}");
        let service = forwarding(&[&ups[0], &ups[1]], &options);
        ups.iter().for_each(ScriptedUpstream::switch_off);
        eventually("both are down", || {
            let asked = ask(&service, "www.example A");
            ups.iter().all(|up| {
                asked.notes.iter().any(|note| note.text.contains(&format!("{} is down: ", up.addr())))
            })
        });
        let before = HEALTHCHECK_BROKEN.get();
        let asked = ask(&service, "www.example A");
        assert!(HEALTHCHECK_BROKEN.get() > before);
        assert_eq!(present(&asked).trim_end(), "SERVFAIL qr,rd");
        asked.error.expect("a reason")
    };
    let error = down("");
    assert!(error.ends_with("connection refused"), "{error}");
    assert_eq!(down("failfast_all_unhealthy_upstreams"), "no healthy proxies");
}

#[test]
fn failover() {
    let [bad, good] = [upstream("192.0.2.1"), upstream("192.0.2.2")];
    bad.on("fail", [Step::Servfail]);
    bad.on("refuse", [Step::Refused]);
    bad.on("both", [Step::Servfail]);
    good.on("both", [Step::Rcode(5)]);
    let service = forwarding(&[&bad, &good], "failover servfail REFUSED");
    for (question, expected) in [
        ("fail.example A", "192.0.2.2"),
        ("refuse.example A", "192.0.2.2"),
        ("fine.example A", "192.0.2.1"),
        // The last upstream's reply counts.
        ("both.example A", "REFUSED"),
    ] {
        assert!(answer(&service, question).contains(expected), "{question}");
    }
    assert_eq!(answer(&forwarding(&[&bad, &good], ""), "fail.example A"), "SERVFAIL qr,rd,ra");
}

#[test]
fn next() {
    let [first, second] = [upstream("192.0.2.1"), upstream("192.0.2.2")];
    first.on("nx", [Step::Rcode(3)]);
    first.on("fail", [Step::Servfail]);
    first.on("empty", [Step::Lame]);
    first.on("nxempty", [Step::Rcode(3)]);
    let (one, two) = (first.addr(), second.addr());
    let reply = |options: &str, behind: &str, question: &str| {
        let corefile = format!(". {{\n forward . {one} {{\n {options}\n }}\n {behind}\n}}");
        answer(&service(&corefile), question)
    };
    let forward = format!("forward . {two}");
    let elsewhere = format!("forward example.net {two}");
    for (options, behind, question, expected) in [
        ("next NXDOMAIN", &forward, "nx.example A", "192.0.2.2"),
        ("next nxdomain servfail", &forward, "fail.example A", "192.0.2.2"),
        ("next NXDOMAIN", &forward, "fail.example A", "SERVFAIL qr,rd,ra"),
        ("next NXDOMAIN", &forward, "www.example A", "192.0.2.1"),
        ("next_on_nodata", &forward, "empty.example A", "192.0.2.2"),
        ("next_on_nodata", &forward, "nxempty.example A", "NXDOMAIN"),
        ("", &forward, "empty.example A", "NOERROR qr,rd,ra"),
        // Only another forward takes over; if it does not match, the query fails.
        ("next NXDOMAIN", &"erratic {\n drop 0\n }".to_owned(), "nx.example A", "NXDOMAIN"),
        ("next NXDOMAIN", &"".to_owned(), "nx.example A", "NXDOMAIN"),
        ("next NXDOMAIN", &elsewhere, "nx.example A", "SERVFAIL qr,rd"),
    ] {
        let got = reply(options, behind, question);
        assert!(got.contains(expected), "{options} {behind} {question}: {got}");
    }
}

#[test]
fn wrong_questions_are_a_format_error() {
    let up = upstream("192.0.2.1");
    up.on("wrong", [Step::WrongQuestion]);
    let service = forwarding(&[&up], "");
    let asked = ask(&service, "wrong.example A tcp");
    assert_eq!(present(&asked).trim_end(), "FORMERR qr,rd");
    assert_eq!((asked.error, asked.answered_by), (None, Some("forward")));
}

#[test]
fn queries_beyond_max_concurrent_are_refused() {
    let up = upstream("192.0.2.1");
    up.on("slow", [a("192.0.2.1").delayed(Duration::from_millis(300))]);
    let service = forwarding(&[&up], "max_concurrent 1");
    let before = MAX_CONCURRENT_REJECTS.get();
    let slow = std::thread::spawn({
        let service = Arc::clone(&service);
        move || answer(&service, "slow.example A")
    });
    eventually("the slow query is in flight", || up.count("slow.example") == 1);
    let asked = ask(&service, "www.example A");
    assert_eq!(present(&asked).trim_end(), "REFUSED qr,rd");
    assert_eq!(asked.error.as_deref(), Some("concurrent queries exceeded maximum 1"));
    assert_eq!(MAX_CONCURRENT_REJECTS.get(), before + 1);
    assert!(slow.join().expect("an answer").contains("192.0.2.1"));
    assert!(answer(&service, "www.example A").contains("192.0.2.1"));
}

#[test]
fn unhealthy_on_servfail() {
    let [bad, good] = [upstream("192.0.2.1"), upstream("192.0.2.2")];
    bad.otherwise([Step::Servfail]);
    let service = forwarding(&[&bad, &good], "max_fails 1\n unhealthy_on servfail");
    for _ in 0..2 {
        assert_eq!(answer(&service, "www.example A"), "SERVFAIL qr,rd,ra");
    }
    assert!(answer(&service, "www.example A").contains("192.0.2.2"));
    // After the hold it is tried again, and has recovered.
    bad.otherwise([a("192.0.2.1")]);
    std::thread::sleep(Duration::from_millis(1100));
    for _ in 0..2 {
        assert!(answer(&service, "www.example A").contains("192.0.2.1"));
    }
}

#[test]
fn resolv_conf_files_are_read_again() {
    // Port 53 of loopback addresses without a listener: only the queried address counts.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("resolv.conf");
    let write = |text: &str| std::fs::write(&path, text).expect("a file");
    write("nameserver 127.0.0.251\n");
    let config = crate::testing::harness::configure(&format!(
        ". {{\n forward . {} {{\n policy sequential\n max_fails 0\n max_connect_attempts 2\n read_timeout 20ms\n }}\n}}",
        path.display()
    ))
    .expect("it loads");
    let service = config.services().next().expect("a service").1.clone();
    let [task] = config.tasks() else { panic!("one file is followed") };
    let asked_of = || {
        let notes = ask(&service, "www.example A").notes;
        let notes: String = notes.into_iter().map(|note| note.text).collect();
        (250..=254).filter(|last| notes.contains(&format!("127.0.0.{last}:53"))).collect::<Vec<_>>()
    };
    assert_eq!(asked_of(), [251]);
    for (text, expected) in [
        ("# two\nnameserver 127.0.0.252\nnameserver 127.0.0.253\n", vec![252, 253]),
        ("", vec![252, 253]),
        ("nameserver nonsense\n", vec![252, 253]),
        ("nameserver 127.0.0.253\n", vec![253]),
    ] {
        write(text);
        (task.work)();
        assert_eq!(asked_of(), expected, "{text}");
    }
    let contents = |version| format!("nameserver 127.0.1.{version}\n");
    let asked = || {
        let notes: String = ask(&service, "www.example A").notes.into_iter().map(|note| note.text).collect();
        (1..100).find(|version| notes.contains(&format!("127.0.1.{version}:53")))
    };
    crate::testing::broken_file::check(&path, contents, || (task.work)(), asked);
}

#[test]
fn hostnames_are_resolved_at_setup() {
    let [names, up] = [upstream("127.0.0.1"), upstream("192.0.2.1")];
    names.on("dns.example", [Step::Addresses(vec!["127.0.0.1".parse().unwrap()], 60)]);
    names.on("none.example", [Step::Lame]);
    let (resolver, port) = (names.addr(), up.addr().port());
    let corefile = |host: &str| format!(". {{\n forward . {host}:{port} {{\n resolver {resolver}\n }}\n}}");
    assert!(answer(&service(&corefile("dns.example")), "www.example A").contains("192.0.2.1"));
    assert_eq!(names.count("dns.example"), 2);
    let error = crate::testing::harness::refused(&corefile("none.example"));
    let expected =
        "plugin/forward: failed to resolve \"none.example\": no addresses found for \"none.example\"";
    assert_eq!(error, expected);
    supervise::inject::arm("forward-resolve", 1);
    assert_eq!(crate::testing::harness::refused(&corefile("dns.example")), expected.replace("none", "dns"));
    assert_eq!(supervise::panics("forward-resolve"), 1);
    assert!(
        crate::testing::harness::configure(&corefile("dns.example")).is_ok(),
        "a panic costs one attempt"
    );
    names.switch_off();
    let error = crate::testing::harness::refused(&corefile("dns.example"));
    assert!(error.starts_with(&expected.replace("none", "dns")), "{error}");
    assert!(error.ends_with("connection refused"), "{error}");
}

#[test]
fn other_classes_are_forwarded() {
    let up = upstream("192.0.2.1");
    up.on("version.bind", [Step::Refused]);
    let service = forwarding(&[&up], "");
    let name = NameBuf::parse("version.bind").expect("a name");
    let mut query = Query::ask(name.as_name(), Rtype::TXT);
    query.question.qclass = wire::Class::CH;
    let (_, client) = packet(". A");
    let asked =
        runtime::handle().block_on(service.answer(&query.to_packet(), client, server::Purpose::Serve));
    assert_eq!((asked.answered_by, up.count("version.bind")), (Some("forward"), 1));
}

#[test]
fn old_proxy_lines_work() {
    let up = upstream("192.0.2.1");
    let addr = up.addr();
    let corefile = format!(
        ". {{\n proxy . {addr} {{\n policy least_conn\n spray\n fail_timeout 5s\n health_check /health:8080 10s\n protocol dns force_tcp\n except example.net\n }}\n}}"
    );
    let config = crate::testing::harness::configure(&corefile).expect("it loads");
    assert_eq!(config.warnings.len(), 4);
    let service = config.services().next().expect("a service").1.clone();
    assert!(answer(&service, "www.example A").contains("192.0.2.1"));
    assert_eq!(up.seen()[0].transport, Via::Tcp);
}
