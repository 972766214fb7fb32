//! CoreDNS and Rhumb make the same of headers of the PROXY protocol: the same raw bytes, over UDP and over TCP, get the
//! same answer of `whoami`, which tells the client its address, or none; and the same line in the query log.

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
/// Cases under way at once.
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
    let start = |kind| DnsServer::start_anywhere(kind, &corefile).unwrap_or_else(|error| panic!("{error}"));
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    let cases: Vec<Case> =
        (0..2 * CASES).map(|number| Case::generate(random, number, number < CASES)).collect();
    for chunk in cases.chunks(LANES) {
        let (left, right) = (answers(chunk, coredns.addr()), answers(chunk, rhumb.addr()));
        for (case, (left, right)) in chunk.iter().zip(left.iter().zip(&right)) {
            let (mut left, mut right) = (left.clone(), right.clone());
            if left != right {
                // Perhaps one was only slow: tests share their machine with builds.
                let again = |addr| answers_slowly(case, addr);
                (left, right) = (again(coredns.addr()), again(rhumb.addr()));
            }
            if case.header == Header::Unix {
                // CoreDNS has the name of a socket for the client's address; there is no such client.
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
            // The transport of a header over the other one is CoreDNS's for the query's.
            .map(|line| line.replacen("udp over-tcp", "tcp over-tcp", 1))
            .collect();
        lines.sort();
        lines.dedup();
        lines
    };
    let (left, right) = (lines(&coredns), lines(&rhumb));
    // Policies that refuse most have the fewest; none at all would compare nothing.
    assert!(left.len() > CASES / 16, "only {} lines of log", left.len());
    let only = |these: &[String], those: &[String]| {
        these.iter().filter(|line| !those.contains(line)).take(5).cloned().collect::<Vec<_>>()
    };
    assert_eq!((only(&left, &right), only(&right, &left)), (vec![], vec![]), "{policy}");
}

/// What each case gets back.
fn answers(cases: &[Case], server: SocketAddr) -> Vec<Vec<String>> {
    let asked: Vec<Asked> = cases.iter().map(|case| Asked::new(case, server)).collect();
    let end = Instant::now() + Duration::from_millis(400);
    asked.into_iter().map(|asked| asked.answer(end)).collect()
}

fn answers_slowly(case: &Case, server: SocketAddr) -> Vec<String> {
    Asked::new(case, server).answer(Instant::now() + Duration::from_secs(3))
}

/// A case under way.
enum Asked {
    Udp(UdpSocket, usize),
    Tcp(TcpStream),
}

impl Asked {
    fn new(case: &Case, server: SocketAddr) -> Asked {
        if case.udp {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
            socket.connect(server).expect("connected");
            for packet in &case.packets {
                socket.send(packet).expect("sent");
            }
            return Asked::Udp(socket, case.packets.len());
        }
        let mut stream = TcpStream::connect(server).expect("connected");
        // In one go: CoreDNS takes a line of version 1 only if it comes in one piece.
        let _ = stream.write_all(&case.packets.concat());
        // So that nobody waits for the rest of what is no query.
        let _ = stream.shutdown(Shutdown::Write);
        Asked::Tcp(stream)
    }

    /// The replies, as text, in the order of their ids; none when the server stays silent or closes.
    fn answer(self, end: Instant) -> Vec<String> {
        let left = |end: Instant| end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let (port, mut replies) = match self {
            Asked::Udp(socket, packets) => {
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
            Asked::Tcp(mut stream) => {
                stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
                let (mut bytes, mut replies) = (Vec::new(), Vec::new());
                // A reset is a closed connection too.
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
        // A client nobody spoke for has the socket's own port, which differs from server to server.
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
