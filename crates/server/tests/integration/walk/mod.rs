//! The plugin contract, tested with small plugins that behave like the most demanding real ones.
//!
//! Every scenario runs over UDP and TCP, with immediate and with delayed data, before and after a reload.

mod client;
mod routes;
mod shapes;
mod streams;
mod supervised;

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use client::{Answer, Transport, ask, ask_all, packet};
use server::{Config, Input, Server, config};
use wire::Rcode;

/// Scenarios share counters in `shapes` and run one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn build(corefile: &str) -> Config {
    let input = Input { name: "Corefile".into(), contents: corefile.into(), dns_port: "0".into() };
    config::build(&input, shapes::PLUGINS, &corefile::Memory::new())
        .unwrap_or_else(|errors| panic!("{}\n{corefile}", errors[0]))
}

/// Runs a scenario in all its variants. `{data}` in the Corefile is the speed of the data.
fn scenario(corefile: &str, check: impl Fn(SocketAddr, Transport)) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|broken| broken.into_inner());
    let text = |speed: &str| format!(".:0 {{\nbind_loopback\n{}\n}}\n", corefile.replace("{data}", speed));
    let mut server = Server::start(build(&text("now"))).expect("it starts");
    let addr = server.addresses()[0];
    for speed in ["now", "later", "now"] {
        server.reload(build(&text(speed))).expect("it reloads");
        assert_eq!(server.addresses()[0], addr, "the socket stays");
        for transport in [Transport::Udp, Transport::Tcp] {
            shapes::reset();
            check(addr, transport);
        }
    }
    assert!(server.stop(), "nothing is left in flight");
}

fn addresses(answer: &Answer) -> Vec<String> {
    answer.records("answer")
}

#[test]
fn autopath_walks_again_with_the_next_name() {
    scenario("autopath\ndata {data}", |addr, transport| {
        let answer = ask(addr, transport, "web.pod.example. A");
        assert_eq!(answer.rcode, Rcode::NOERROR);
        assert_eq!(
            addresses(&answer),
            ["web.pod.example. 30 IN CNAME web.search.example.", "web.search.example. 30 IN A 10.0.0.1"]
        );
        // No name exists: the client gets the first reply, for the original name.
        let answer = ask(addr, transport, "nothing.pod.example. A");
        assert_eq!((answer.rcode, answer.question.as_str()), (Rcode::NXDOMAIN, "nothing.pod.example. A"));
        assert_eq!(shapes::data_asked(), 2 + 3);
    });
}

#[test]
fn dns64_looks_up_another_type() {
    scenario("dns64\ndata {data}", |addr, transport| {
        let answer = ask(addr, transport, "v4only.example. AAAA");
        assert_eq!(addresses(&answer), ["v4only.example. 30 IN AAAA 64:ff9b::a00:2"]);
        let answer = ask(addr, transport, "missing.example. AAAA");
        assert_eq!(answer.rcode, Rcode::NXDOMAIN);
    });
}

#[test]
fn rewrite_changes_the_question_and_follows_new_targets() {
    scenario("rewrite\ndata {data}", |addr, transport| {
        // The question is replaced on the way down and restored on the way up, with the answer's owner.
        let answer = ask(addr, transport, "Shop.Example. A");
        assert_eq!(answer.question, "Shop.Example. A");
        assert_eq!(addresses(&answer), ["Shop.Example. 30 IN A 10.0.0.1"]);
        // Without reverting, the answer keeps the name it was found under.
        let answer = ask(addr, transport, "raw.example. A");
        assert_eq!(answer.question, "raw.example. A");
        assert_eq!(addresses(&answer), ["web.search.example. 30 IN A 10.0.0.1"]);
        // A CNAME whose target is replaced is resolved again, through the whole chain.
        let answer = ask(addr, transport, "alias.example. A");
        assert_eq!(
            addresses(&answer),
            ["alias.example. 30 IN CNAME new.example.", "new.example. 30 IN A 10.0.0.3"]
        );
        // A failure below is answered with the original question.
        let answer = ask(addr, transport, "fails.example. A");
        assert_eq!((answer.rcode, answer.question.as_str()), (Rcode::SERVFAIL, "fails.example. A"));
    });
}

#[test]
fn transfer_streams_messages_through_the_plugins_above() {
    scenario("observe\ntransfer\ndata {data}", |addr, transport| {
        if transport == Transport::Udp {
            // RFC 5936, section 4.2; CoreDNS refuses it too.
            assert_eq!(ask(addr, transport, "zone.example. AXFR").rcode, Rcode::REFUSED);
            return;
        }
        let answers = ask_all(addr, transport, "zone.example. AXFR", 3);
        let counts: Vec<usize> = answers.iter().map(|answer| addresses(answer).len()).collect();
        assert_eq!(counts, [2, 2, 1]);
        assert_eq!(shapes::seen(), ["records", "records", "records"]);
        // The connection goes on after the transfer.
        assert_eq!(addresses(&ask(addr, transport, "web.search.example. A")).len(), 1);
    });
}

#[test]
fn tsig_reads_the_query_and_signs_the_final_bytes() {
    scenario("tsig\ndata {data}", |addr, transport| {
        let answer = ask(addr, transport, "web.search.example. A");
        let signature = answer.records("additional");
        // The signature contains the lengths of the signed reply and of its query.
        let query = packet("web.search.example. A", 0).len();
        assert_eq!(
            signature,
            [format!(". 0 CLASS255 TXT \"{} {query}\"", answer.len - signature_len(&signature[0]))]
        );
        // Truncation is done first: the signed bytes have TC set.
        if transport == Transport::Udp {
            let answer = ask(addr, transport, "large.example. A");
            assert!(answer.truncated);
            assert_eq!(answer.records("additional").len(), 1);
            assert!(answer.len <= 512, "{}", answer.len);
        }
        let refused = ask(addr, transport, "unsigned.example. A");
        assert_eq!(refused.rcode, Rcode::REFUSED);
    });
}

/// Octets of the fake signature record: fixed part and the quoted text.
fn signature_len(record: &str) -> usize {
    11 + 1 + record.split('"').nth(1).map_or(0, str::len)
}

#[test]
fn cache_verifies_stale_records_and_followers_wait_for_their_leader() {
    scenario("cache\ndata {data}", |addr, transport| {
        // Fast enough: the walk below ends before the timeout.
        assert_eq!(
            addresses(&ask(addr, transport, "stale.quick.example. A")),
            ["stale.quick.example. 30 IN A 10.0.0.9"]
        );
        // Too slow: the stale record is served, and the walk below still completes.
        let start = Instant::now();
        assert_eq!(
            addresses(&ask(addr, transport, "stale.slow.example. A")),
            ["stale.slow.example. 0 IN A 10.9.9.9"]
        );
        assert!(start.elapsed() < shapes::SLOW, "the client does not wait for the refresh");
        wait_until(|| shapes::data_answered() == 2);
        // Prefetch: the hit is answered at once, the refresh goes on without a client.
        assert_eq!(
            addresses(&ask(addr, transport, "prefetch.example. A")),
            ["prefetch.example. 0 IN A 10.9.9.9"]
        );
        wait_until(|| shapes::data_answered() == 3);
        // Followers wait for one leader.
        shapes::reset();
        let answers = herd(addr, transport, "herd", 20);
        assert!(
            answers.iter().all(|answer| addresses(answer)[0].ends_with(".slow.example. 30 IN A 10.0.0.9"))
        );
        assert_eq!(shapes::data_asked(), 1);
        // A leader that fails promotes a follower; all are answered, and only those two query the data.
        shapes::reset();
        let answers = herd(addr, transport, "once-failing", 10);
        assert_eq!(answers.iter().filter(|answer| answer.rcode == Rcode::SERVFAIL).count(), 1);
        assert_eq!(answers.iter().filter(|answer| answer.rcode == Rcode::NOERROR).count(), 9);
        assert_eq!(shapes::data_asked(), 2);
    });
}

/// Many clients query one slow name at once; each transport has a name of its own.
fn herd(addr: SocketAddr, transport: Transport, kind: &str, count: usize) -> Vec<Answer> {
    let question = format!("{kind}.{transport:?}.slow.example. A");
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..count).map(|_| scope.spawn(|| ask(addr, transport, &question))).collect();
        asking.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    })
}

#[test]
fn forward_passes_a_miss_to_the_next_plugin() {
    scenario("forward {data}\ndata {data}", |addr, transport| {
        let answer = ask(addr, transport, "upstream.example. A");
        assert_eq!(addresses(&answer), ["upstream.example. 30 IN A 192.0.2.1"]);
        let answer = ask(addr, transport, "web.search.example. A");
        assert_eq!(addresses(&answer), ["web.search.example. 30 IN A 10.0.0.1"]);
        let answer = ask(addr, transport, "broken.example. A");
        assert_eq!(answer.rcode, Rcode::SERVFAIL);
    });
}

#[test]
fn acl_drops_and_the_plugins_above_see_it() {
    scenario("observe\nacl\ndata {data}", |addr, transport| {
        assert!(client::try_ask(addr, transport, "dropped.example. A", Duration::from_millis(80)).is_none());
        assert_eq!(shapes::seen(), ["drop"]);
        let refused = ask(addr, transport, "blocked.example. A");
        assert_eq!(refused.rcode, Rcode::REFUSED);
        assert_eq!(shapes::seen(), ["drop", "failure REFUSED: blocked by acl"]);
        assert_eq!(addresses(&ask(addr, transport, "web.search.example. A")).len(), 1);
    });
}

#[test]
fn a_panic_costs_one_servfail() {
    scenario("observe\npanics {data}\ndata {data}", |addr, transport| {
        let before = server::PANICS.get();
        let answer = ask(addr, transport, "panic.example. A");
        assert_eq!((answer.rcode, answer.question.as_str()), (Rcode::SERVFAIL, "panic.example. A"));
        assert_eq!(addresses(&ask(addr, transport, "web.search.example. A")).len(), 1);
        assert_eq!(server::PANICS.get(), before + 1);
    });
}

#[test]
fn a_deadline_ends_the_waiting() {
    scenario("deadline\nobserve\ndata {data}", |addr, transport| {
        let start = Instant::now();
        let answer = ask(addr, transport, "a.slow.example. A");
        assert_eq!(answer.rcode, Rcode::SERVFAIL);
        assert!(start.elapsed() < shapes::SLOW);
        assert_eq!(shapes::seen(), ["failure SERVFAIL: query deadline exceeded"]);
    });
}

#[test]
fn queries_in_flight_end_on_the_configuration_they_began_with() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|broken| broken.into_inner());
    let text = |plugins: &str| format!(".:0 {{\nbind_loopback\n{plugins}\n}}\n");
    let mut server = Server::start(build(&text("data now"))).expect("it starts");
    let addr = server.addresses()[0];
    for transport in [Transport::Udp, Transport::Tcp] {
        server.reload(build(&text("data now"))).expect("it reloads");
        let asking = std::thread::spawn(move || ask(addr, transport, "in-flight.slow.example. A"));
        std::thread::sleep(shapes::SLOW / 4);
        server.reload(build(&text("acl"))).expect("it reloads");
        assert_eq!(
            addresses(&asking.join().expect("an answer")),
            ["in-flight.slow.example. 30 IN A 10.0.0.9"]
        );
        // The new configuration does not serve these names.
        assert_eq!(ask(addr, transport, "web.search.example. A").rcode, Rcode::SERVFAIL);
    }
    // Stopping waits for queries in flight, too.
    server.reload(build(&text("data now"))).expect("it reloads");
    let asking = std::thread::spawn(move || ask(addr, Transport::Udp, "at-the-end.slow.example. A"));
    std::thread::sleep(shapes::SLOW / 4);
    assert!(server.stop());
    assert_eq!(addresses(&asking.join().expect("an answer")), ["at-the-end.slow.example. 30 IN A 10.0.0.9"]);
}

#[test]
fn tcp_replies_overtake_each_other() {
    scenario("data {data}", |addr, transport| {
        if transport == Transport::Tcp {
            let order = client::pipeline(
                addr,
                &["first.slow.example. A", "web.search.example. A", "v4only.example. A"],
            );
            let last = order.last().map(String::as_str);
            assert_eq!((order.len(), last), (3, Some("first.slow.example. A")), "{order:?}");
        }
    });
}

fn wait_until(condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while !condition() {
        assert!(Instant::now() < end, "it never came true");
        std::thread::sleep(Duration::from_millis(5));
    }
}
