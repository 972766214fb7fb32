//! API servers that never answer affect only queries for their names: they delay the start once, not once each.

use std::fmt::Write;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use testkit::client::{self, Transport};
use testkit::message::Message;
use testkit::name::Name;
use testkit::{DnsServer, Kind, ports};

const SILENT: usize = 20;

/// The default of `startup_timeout`, which applies once.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(5);

const SERVICE: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.7, ports: [{port: 80}]}
";

/// The response code and the number of answer records.
fn query(server: SocketAddr, name: &str) -> (u16, usize) {
    let mut query = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    query.extend(Name::parse(name).unwrap().wire());
    query.extend([0, 1, 0, 1]);
    let outcome = client::query(server, Transport::Udp, &query, Duration::from_secs(2)).unwrap();
    let reply = outcome.reply().unwrap_or_else(|| panic!("{name}: no answer"));
    (u16::from(reply[3] & 0x0f), Message::decode(reply).answer.len())
}

#[test]
fn silent_api_servers_delay_the_start_once() {
    // The kernel accepts connections to them, but no process does.
    let silent: Vec<TcpListener> = (0..SILENT).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let port = ports::free().unwrap();
    let mut corefile = format!(
        "cluster.local:{port} {{\nbind 127.0.0.1\nkubernetes {{\nmanifests .\n}}\n}}\n\
         plain.test:{port} {{\nbind 127.0.0.1\nhosts {{\n192.0.2.1 plain.test\n}}\n}}\n"
    );
    for (n, listener) in silent.iter().enumerate() {
        let endpoint = listener.local_addr().unwrap();
        let kubernetes = format!("kubernetes {{\nendpoint http://{endpoint}\n}}");
        write!(corefile, "c{n}.local:{port} {{\nbind 127.0.0.1\n{kubernetes}\n}}\n").unwrap();
    }
    let began = Instant::now();
    let files = [("web.yaml", SERVICE)];
    let server = DnsServer::start_with_files(Kind::Rhumb, &corefile, port, &files).unwrap();
    let took = began.elapsed();
    assert!(STARTUP_TIMEOUT <= took && took < 3 * STARTUP_TIMEOUT, "it took {took:?} to start");

    let (no_error, servfail) = (0, 2);
    for (name, expected) in [
        ("web.shop.svc.cluster.local", (no_error, 1)),
        ("plain.test", (no_error, 1)),
        ("web.shop.svc.c0.local", (servfail, 0)),
        ("web.shop.svc.c19.local", (servfail, 0)),
    ] {
        assert_eq!(query(server.addr(), name), expected, "{name}");
    }
    for listener in &silent {
        let endpoint = listener.local_addr().unwrap();
        let line = format!("http://{endpoint}: still waiting for a first answer from {endpoint}, for ");
        let deadline = Instant::now() + STARTUP_TIMEOUT;
        while server.output().matches(&line).count() != 1 {
            assert!(Instant::now() < deadline, "no line about {endpoint}:\n{}", server.output());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
