//! CoreDNS and Rhumb handle PROXY protocol headers equally: the same raw bytes, over UDP and TCP, get the same answer of
//! `whoami`, which returns the client's address, or none; and the same line in the query log.

mod case;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use case::{Case, Kind as Header};
use testkit::peers::Peer;
use testkit::random::{Random, seed_from_env};
use testkit::{DnsServer, Kind};
use wire::Reply;

/// Cases per Corefile and transport.
const CASES: usize = 160;
/// Concurrent cases.
const LANES: usize = 40;

const POLICIES: &[&str] = &[
    "proxyproto",
    "proxyproto {\n default ignore\n }",
    "proxyproto {\n default reject\n tlv_metadata\n }",
    "proxyproto {\n default skip\n }",
    "proxyproto {\n allow 10.0.0.0/8 127.0.0.0/30\n default reject\n tlv_metadata\n }",
    "proxyproto {\n allow 10.0.0.0/8 ::/0\n }",
    "proxyproto {\n udp_session_tracking 20s 500\n tlv_metadata\n }",
    "proxyproto {\n allow 192.0.2.0/24\n udp_session_tracking 20s\n }",
];

#[test]
fn headers_over_udp_and_tcp() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let mut random = Random::new(seed_from_env());
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    for policy in POLICIES {
        check(policy, &mut random, &mut outcomes);
    }
    let asked: usize = outcomes.values().sum();
    println!("{asked} cases: {outcomes:?}");
    assert!(asked >= 2_000 && outcomes.len() >= 6, "the cases show too little");
}

fn check(policy: &str, random: &mut Random, outcomes: &mut BTreeMap<String, usize>) {
    let corefile = format!(
        ".:{{port}} {{\n bind 127.0.0.1\n metadata\n {policy}\n \
         log . \"SEEN {{proto}} {{name}} {{remote}} {{local}} {{/proxyproto/tlv}}\"\n whoami\n}}\n"
    );
    let start =
        |kind| DnsServer::start_on_free_port(kind, &corefile).unwrap_or_else(|error| panic!("{error}"));
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    let cases: Vec<Case> =
        (0..2 * CASES).map(|number| Case::generate(random, number, number < CASES)).collect();
    for chunk in cases.chunks(LANES) {
        let (left, right) = (answers(chunk, coredns.addr()), answers(chunk, rhumb.addr()));
        for (case, (left, right)) in chunk.iter().zip(left.iter().zip(&right)) {
            let (mut left, mut right) = (left.clone(), right.clone());
            if left != right {
                // One may only have been slow: tests share their machine with builds.
                let again = |addr| answers_slowly(case, addr);
                (left, right) = (again(coredns.addr()), again(rhumb.addr()));
            }
            if case.header == Header::Unix {
                // CoreDNS uses the socket's path as the client's address; there is no such client.
                continue;
            }
            assert_eq!(case.normal(&left), case.normal(&right), "{policy}\n{case:?}");
            let what = if left.is_empty() {
                "nothing"
            } else if left[0].contains("_") {
                "whoami"
            } else {
                "error"
            };
            *outcomes.entry(format!("{:?} {what}", case.header)).or_default() += 1;
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    let lines = |server: &DnsServer| {
        let mut lines: Vec<String> = server
            .process()
            .lines()
            .iter()
            .filter_map(|line| line.split_once("SEEN ").map(|(_, rest)| rest.to_owned()))
            .filter(|line| !line.contains(" unix"))
            // CoreDNS takes the query's transport from the header.
            .map(|line| line.replacen("udp over-tcp", "tcp over-tcp", 1))
            .collect();
        lines.sort();
        lines.dedup();
        lines
    };
    let (left, right) = (lines(&coredns), lines(&rhumb));
    // Policies that reject most have the fewest answers; without any, nothing would be compared.
    assert!(left.len() > CASES / 16, "only {} lines of log", left.len());
    let only = |these: &[String], those: &[String]| {
        these.iter().filter(|line| !those.contains(line)).take(5).cloned().collect::<Vec<_>>()
    };
    assert_eq!((only(&left, &right), only(&right, &left)), (vec![], vec![]), "{policy}");
}

/// The answers to each case.
fn answers(cases: &[Case], server: SocketAddr) -> Vec<Vec<String>> {
    let asked: Vec<Exchange> = cases.iter().map(|case| Exchange::new(case, server)).collect();
    let end = Instant::now() + Duration::from_millis(400);
    asked.into_iter().map(|asked| asked.answer(end)).collect()
}

fn answers_slowly(case: &Case, server: SocketAddr) -> Vec<String> {
    Exchange::new(case, server).answer(Instant::now() + Duration::from_secs(3))
}

/// A case in progress.
enum Exchange {
    Udp(UdpSocket, usize),
    Tcp(TcpStream),
}

impl Exchange {
    fn new(case: &Case, server: SocketAddr) -> Exchange {
        if case.udp {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
            socket.connect(server).expect("connected");
            for packet in &case.packets {
                socket.send(packet).expect("sent");
            }
            return Exchange::Udp(socket, case.packets.len());
        }
        let mut stream = TcpStream::connect(server).expect("connected");
        // In one write: CoreDNS accepts a version 1 line only in one piece.
        let _ = stream.write_all(&case.packets.concat());
        // So that the server does not wait for the rest of an incomplete query.
        let _ = stream.shutdown(Shutdown::Write);
        Exchange::Tcp(stream)
    }

    /// The replies as text, sorted by id; none when the server does not answer or closes.
    fn answer(self, end: Instant) -> Vec<String> {
        let left = |end: Instant| end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let (port, mut replies) = match self {
            Exchange::Udp(socket, packets) => {
                let mut replies = Vec::new();
                let mut buffer = [0; 4096];
                while replies.len() < packets {
                    socket.set_read_timeout(Some(left(end))).expect("a time-out");
                    match socket.recv(&mut buffer) {
                        Ok(len) => replies.push(buffer[..len].to_vec()),
                        Err(_) => break,
                    }
                }
                (socket.local_addr().map_or(0, |addr| addr.port()), replies)
            }
            Exchange::Tcp(mut stream) => {
                stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
                let (mut bytes, mut replies) = (Vec::new(), Vec::new());
                // A reset counts as a closed connection.
                let _ = stream.read_to_end(&mut bytes);
                let mut rest = &bytes[..];
                while let Some((head, after)) = rest.split_first_chunk::<2>() {
                    let len = usize::from(u16::from_be_bytes(*head)).min(after.len());
                    replies.push(after[..len].to_vec());
                    rest = &after[len..];
                }
                (stream.local_addr().map_or(0, |addr| addr.port()), replies)
            }
        };
        replies.sort();
        // Without a header the client's port is the socket's own, which differs between the servers.
        replies.iter().map(|reply| present(reply).replace(&format!(" {port} "), " OWN ")).collect()
    }
}

fn present(packet: &[u8]) -> String {
    let mut reply = Reply::new();
    match reply.decode(packet) {
        Some((_, question)) => reply.present(&question),
        None => format!("rcode {}", packet.get(3).copied().unwrap_or_default() & 15),
    }
}
