//! An upstream outage under load: cached names are served stale, no answer is wrong, and a second after recovery new
//! names are answered again.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use testkit::client;
use testkit::dnsperf::Load;
use testkit::scripted_upstream::{ScriptedUpstream, Step};
use testkit::{DnsServer, Kind};
use wire::{NameBuf, Query, Rcode, Rtype};

const NAMES: usize = 200;
const COREFILE: &str = ".:{port} {\n bind 127.0.0.1\n errors {\n consolidate 5s .*\n }\n cache {\n success 9984 2 1\n serve_stale 1h immediate\n }\n forward . {upstream} {\n read_timeout 300ms\n }\n}\n";

fn query(server: SocketAddr, name: &str) -> Option<Rcode> {
    let query = Query::ask(NameBuf::parse(name).expect("a name").as_name(), Rtype::A).to_packet();
    let outcome = client::udp(server, &query, Duration::from_millis(400), 0).ok()?;
    outcome.reply().map(|bytes| Rcode(u16::from(bytes[3] & 0xF)))
}

fn outage(seconds: u64) {
    let upstream = ScriptedUpstream::start().unwrap_or_else(|error| panic!("{error}"));
    upstream.otherwise([Step::address("192.0.2.1", 2).expect("an address")]);
    let corefile = COREFILE.replace("{upstream}", &upstream.addr().to_string());
    let server =
        DnsServer::start_on_free_port(Kind::Rhumb, &corefile).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<String> = (0..NAMES).map(|number| format!("name{number}.example.")).collect();
    for name in &names {
        assert_eq!(query(server.addr(), name), Some(Rcode::NOERROR), "{name}");
    }
    let settled = server.process().rss().expect("memory");

    let mut load =
        Load::new(server.addr(), names.iter().map(|name| format!("{name} A\n")).collect::<String>());
    load.duration = Duration::from_secs(seconds + 4);
    load.rate = Some(3_000);
    load.clients = 8;
    let summary = std::thread::scope(|scope| {
        let loading = scope.spawn(|| load.run().unwrap_or_else(|error| panic!("{error}")));
        std::thread::sleep(Duration::from_secs(2));
        upstream.switch_off();
        std::thread::sleep(Duration::from_secs(seconds));
        upstream.switch_on().unwrap_or_else(|error| panic!("{error}"));
        let back = Instant::now();
        let fresh = (0..).map(|try_| format!("fresh{try_}.example.")).find(|name| {
            assert!(back.elapsed() < Duration::from_secs(5), "it never came back");
            query(server.addr(), name) == Some(Rcode::NOERROR)
        });
        println!("{:?} answered {:?} after the upstream came back", fresh, back.elapsed());
        assert!(back.elapsed() <= Duration::from_secs(1));
        loading.join().expect("dnsperf ran")
    });
    // Cached names were always answered correctly, stale or not.
    println!("{summary:?}");
    assert_eq!(summary.lost, 0);
    assert_eq!(summary.rcodes.keys().collect::<Vec<_>>(), ["NOERROR"]);
    let end = server.process().rss().expect("memory");
    println!("memory: {settled} settled, {end} at the end");
    assert!(end < settled + (12 << 20), "memory grew from {settled} to {end}");
}

#[test]
fn a_short_outage() {
    outage(6);
}

/// Part of `make test-long`.
#[test]
#[ignore = "takes more than a minute"]
fn an_outage_of_a_minute() {
    outage(60);
}
