//! The running process: addresses, reloads, HTTP, signals, exit codes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::{DnsServer, Kind};
use wire::{NameBuf, Query, Rcode, Reply, Rtype};

fn start(corefile: &str) -> DnsServer {
    DnsServer::start_on_free_port(Kind::Rhumb, corefile).unwrap_or_else(|error| panic!("{error}"))
}

/// Queries over UDP from a connected socket, which accepts replies only from the address it queried.
fn query_udp(server: SocketAddr, name: &str) -> Option<(Rcode, usize)> {
    let local = if server.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
    let socket = UdpSocket::bind(local).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a time-out");
    socket.connect(server).expect("connected");
    let name = NameBuf::parse(name).expect("a name");
    socket.send(&Query::ask(name.as_name(), Rtype::A).to_packet()).ok()?;
    let mut buffer = [0; 4096];
    let len = socket.recv(&mut buffer).ok()?;
    let mut reply = Reply::new();
    reply.decode(&buffer[..len]).expect("a reply");
    Some((reply.rcode, reply.records().len()))
}

fn get(addr: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(addr).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn wildcard_socket_replies_from_the_queried_address() {
    let server = start(".:{port} {\n whoami\n}\n");
    let port = server.addr().port();
    for address in ["127.0.0.1", "127.0.0.2", "127.1.2.3", "::1"] {
        let address = SocketAddr::new(address.parse().expect("an address"), port);
        assert_eq!(query_udp(address, "x.example."), Some((Rcode::NOERROR, 2)), "{address}");
    }
}

#[test]
fn reload_opens_and_closes_addresses() {
    let server = start(".:{port} {\n bind 127.0.0.1\n whoami\n}\n");
    let port = server.addr().port();
    let at = |ip: &str| SocketAddr::new(ip.parse().expect("an address"), port);
    let corefile = server.folder().join("Corefile");
    assert_eq!(query_udp(at("127.0.0.2"), "x."), None);
    std::fs::write(&corefile, format!(".:{port} {{\n bind 127.0.0.1 127.0.0.2\n whoami\n}}\n"))
        .expect("written");
    server.process().signal(Signal::USR1).expect("signalled");
    server.process().wait_for_line("Reloading complete", Duration::from_secs(5)).expect("reloaded");
    assert!(query_udp(at("127.0.0.2"), "x.").is_some() && query_udp(at("127.0.0.1"), "x.").is_some());
    std::fs::write(&corefile, format!(".:{port} {{\n bind 127.0.0.2\n whoami\n}}\n")).expect("written");
    server.process().signal(Signal::HUP).expect("signalled");
    wait_until("127.0.0.1 is closed", || query_udp(at("127.0.0.1"), "x.").is_none());
    assert!(query_udp(at("127.0.0.2"), "x.").is_some());
}

#[test]
fn bad_corefiles_change_nothing() {
    let http = testkit::ports::free().expect("a port");
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let taken_port = taken.local_addr().expect("bound").port();
    let good = format!(
        ".:{{port}} {{\n bind 127.0.0.1\n reload 2s 0s\n health 127.0.0.1:{http}\n hosts {{\n 10.0.0.1 a.example.\n }}\n}}\n"
    );
    let server = start(&good);
    let port = server.addr().port();
    let health = SocketAddr::from(([127, 0, 0, 1], http));
    let corefile = server.folder().join("Corefile");
    let failures = |count: usize| move |output: &str| output.matches("[ERROR] SIGUSR1").count() == count;
    for (number, bad) in [
        "syntax {".to_owned(),
        format!(".:{port} {{\n nosuch\n}}\n"),
        format!(".:{port} {{\n hosts {{\n ttl x\n }}\n}}\n"),
        format!(".:{port} {{\n whoami\n}}\n.:{port} {{\n whoami\n}}\n"),
        format!(
            ".:{port} {{\n bind 127.0.0.1\n whoami\n}}\n.:{taken_port} {{\n bind 127.0.0.1\n whoami\n}}\n"
        ),
        format!(".:{port} {{\n bind 127.0.0.1\n health 203.0.113.7:{http}\n whoami\n}}\n"),
    ]
    .iter()
    .enumerate()
    {
        std::fs::write(&corefile, bad).expect("written");
        server.process().signal(Signal::USR1).expect("signalled");
        wait_until(bad, || failures(number + 1)(&server.output()));
        assert_eq!(query_udp(server.addr(), "a.example."), Some((Rcode::NOERROR, 1)), "{bad}");
        assert!(get(health, "/health").is_some_and(|answer| answer.ends_with("OK")), "{bad}");
    }
    // A missing Corefile changes nothing either; a good one is loaded again.
    std::fs::remove_file(&corefile).expect("removed");
    server.process().signal(Signal::USR1).expect("signalled");
    wait_until("no file", || failures(7)(&server.output()));
    let better = good.replace("{port}", &port.to_string()).replace("a.example.", "b.example.");
    std::fs::write(&corefile, better).expect("written");
    // The reload plugin detects the change.
    wait_until("b.example is served", || query_udp(server.addr(), "b.example.") == Some((Rcode::NOERROR, 1)));
    assert!(get(health, "/health").is_some());
}

#[test]
fn readiness_and_lameduck() {
    let (health, ready) = (testkit::ports::free().expect("a port"), testkit::ports::free().expect("a port"));
    let server = start(&format!(
        ".:{{port}} {{\n bind 127.0.0.1\n health 127.0.0.1:{health} {{\n lameduck 1s\n }}\n ready 127.0.0.1:{ready}\n whoami\n}}\n"
    ));
    let (health, ready) =
        (SocketAddr::from(([127, 0, 0, 1], health)), SocketAddr::from(([127, 0, 0, 1], ready)));
    assert!(
        get(ready, "/ready")
            .is_some_and(|answer| answer.starts_with("HTTP/1.1 200") && answer.ends_with("OK"))
    );
    assert!(get(ready, "/other").is_some_and(|answer| answer.starts_with("HTTP/1.1 404")));
    let start = Instant::now();
    server.process().signal(Signal::TERM).expect("signalled");
    wait_until("not ready any more", || {
        get(ready, "/ready").is_some_and(|answer| answer.starts_with("HTTP/1.1 503"))
    });
    // All other services continue until the lameduck period ends.
    assert!(get(health, "/health").is_some_and(|answer| answer.ends_with("OK")));
    assert_eq!(query_udp(server.addr(), "x."), Some((Rcode::NOERROR, 2)));
    let status = server.process().wait(Duration::from_secs(5)).expect("it ends");
    assert!(status.success() && start.elapsed() >= Duration::from_secs(1), "{status}");
}

#[test]
fn second_interrupt_exits_at_once() {
    let server = start(".:{port} {\n bind 127.0.0.1\n health 127.0.0.1:0 {\n lameduck 60s\n }\n whoami\n}\n");
    server.process().signal(Signal::INT).expect("signalled");
    server.process().wait_for_line("lameduck", Duration::from_secs(5)).expect("lameduck");
    server.process().signal(Signal::INT).expect("signalled");
    let status = server.process().wait(Duration::from_secs(5)).expect("it ends");
    assert_eq!(status.code(), Some(2));
}

#[test]
fn tcp_timeouts_and_limits() {
    let server = start(
        ".:{port} {\n bind 127.0.0.1\n timeouts {\n read 1s\n idle 1s\n maxtcpqueries 2\n }\n whoami\n}\n",
    );
    let name = NameBuf::parse("x.example.").expect("a name");
    let packet = Query::ask(name.as_name(), Rtype::A).to_packet();
    let frame = [&(packet.len() as u16).to_be_bytes()[..], &packet].concat();
    // The server answers two queries, then closes the connection.
    let mut stream = TcpStream::connect(server.addr()).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
    stream.write_all(&[&frame[..], &frame, &frame].concat()).expect("sent");
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let reply_len = usize::from(u16::from_be_bytes([all[0], all[1]])) + 2;
    assert_eq!(all.len(), 2 * reply_len);
    // The server closes connections that send nothing or half a query.
    for silence in [&[][..], &frame[..5]] {
        let mut stream = TcpStream::connect(server.addr()).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
        stream.write_all(silence).expect("sent");
        let start = Instant::now();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        let waited = start.elapsed();
        assert!(
            rest.is_empty() && (Duration::from_millis(800)..Duration::from_secs(3)).contains(&waited),
            "{waited:?}"
        );
    }
}

/// Number of sockets bound to a port of 127.0.0.1, from /proc/net.
fn sockets(table: &str, port: u16, listening: bool) -> usize {
    let text = std::fs::read_to_string(format!("/proc/net/{table}")).expect("the kernel's table");
    let local = format!("0100007F:{port:04X}");
    let state = |fields: &[&str]| !listening || fields.get(3) == Some(&"0A");
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(|fields| fields.get(1) == Some(&&*local) && state(fields)).count()
}

#[test]
fn multisocket_sets_the_number_of_sockets_at_start_and_reload() {
    let server = start(".:{port} {\n bind 127.0.0.1\n multisocket 5\n whoami\n}\n");
    let port = server.addr().port();
    let count = || (sockets("udp", port, false), sockets("tcp", port, true));
    assert_eq!(count(), (5, 5));
    for (body, expected) in
        [("multisocket 1", (1, 1)), ("multisocket 3", (3, 3)), ("local", (net::cpu::available().min(8), 1))]
    {
        let corefile = format!(".:{port} {{\n bind 127.0.0.1\n {body}\n whoami\n}}\n");
        std::fs::write(server.folder().join("Corefile"), corefile).expect("written");
        server.process().signal(Signal::USR1).expect("signalled");
        // Every query is answered meanwhile.
        let asking = Instant::now() + Duration::from_millis(700);
        while Instant::now() < asking {
            assert!(query_udp(server.addr(), "x.example.").is_some(), "{body}");
        }
        wait_until(body, || count() == expected);
    }
}

#[test]
fn commands_run_at_start_reload_and_shutdown() {
    let server = start(
        ".:{port} {\n bind 127.0.0.1\n on startup echo we are up\n on startup false\n on shutdown echo bye\n whoami\n}\n",
    );
    let patience = Duration::from_secs(5);
    let lines = |words: &str| server.process().lines().iter().filter(|line| line.as_str() == words).count();
    server.process().wait_for_line("hook: exit status 1", patience).expect("a failure");
    assert_eq!(lines("we are up"), 1);
    server.process().signal(Signal::USR1).expect("signalled");
    server.process().wait_for_line("Reloading complete", patience).expect("reloaded");
    wait_until("the command ran again", || lines("we are up") == 2);
    assert_eq!(lines("bye"), 0);
    server.process().signal(Signal::TERM).expect("signalled");
    server.process().wait(patience).expect("ended");
    assert_eq!((lines("bye"), lines("we are up")), (1, 2));
}

#[test]
fn hanging_startup_command_does_not_block_serving_or_stopping() {
    let server = start(".:{port} {\n bind 127.0.0.1\n on startup sleep 30\n whoami\n}\n");
    assert!(query_udp(server.addr(), "x.example.").is_some());
    let terminated_at = Instant::now();
    server.process().signal(Signal::TERM).expect("signalled");
    server.process().wait(Duration::from_secs(8)).expect("ended");
    assert!(terminated_at.elapsed() < Duration::from_secs(8));
}

/// A query for `name`.
fn query(name: &str) -> Vec<u8> {
    Query::ask(NameBuf::parse(name).expect("a name").as_name(), Rtype::A).to_packet()
}

fn present(packet: &[u8]) -> String {
    let mut reply = Reply::new();
    let (_, question) = reply.decode(packet).expect("a reply");
    reply.present(&question)
}

#[test]
fn proxy_protocol_sets_the_client_address() {
    let server = start(
        ".:{port} {\n bind 127.0.0.1\n proxyproto {\n  allow 127.0.0.0/8\n }\n acl {\n  block net 192.0.2.8\n }\n whoami\n}\n",
    );
    // The header of a TCP connection in pieces, then two queries.
    let mut stream = TcpStream::connect(server.addr()).expect("connected");
    stream.set_nodelay(true).expect("set");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
    for piece in ["PRO", "XY TCP4 192.0.2.7 ", "192.0.2.1 4711 53\r", "\n"] {
        stream.write_all(piece.as_bytes()).expect("written");
        std::thread::sleep(Duration::from_millis(30));
    }
    for name in ["a.example.", "b.example."] {
        let query = query(name);
        stream.write_all(&(query.len() as u16).to_be_bytes()).expect("written");
        stream.write_all(&query).expect("written");
        let mut head = [0; 2];
        stream.read_exact(&mut head).expect("a reply");
        let mut reply = vec![0; usize::from(u16::from_be_bytes(head))];
        stream.read_exact(&mut reply).expect("a reply");
        let text = present(&reply);
        assert!(text.contains("IN A 192.0.2.7") && text.contains("SRV 0 0 4711 ."), "{text}");
    }
    // UDP: header and query exceed 512 octets, and acl uses the client in the header.
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
    for (last, rcode) in [(7, "NOERROR"), (8, "REFUSED")] {
        let mut packet = b"\r\n\r\n\0\r\nQUIT\n\x21\x12".to_vec();
        packet.extend(615u16.to_be_bytes());
        packet.extend([192, 0, 2, last, 192, 0, 2, 1, 0, 9, 0, 53, 0xe0, 2, 88]);
        packet.extend([7; 600]);
        packet.extend(query("c.example."));
        socket.send_to(&packet, server.addr()).expect("sent");
        let mut buffer = [0; 4096];
        let len = socket.recv(&mut buffer).expect("a reply");
        let text = present(&buffer[..len]);
        assert!(text.starts_with(rcode), "{text}");
    }
}

#[test]
fn profiles_are_served_on_request() {
    let http = testkit::ports::free().expect("a port");
    let server = start(&format!(".:{{port}} {{\n bind 127.0.0.1\n pprof 127.0.0.1:{http}\n whoami\n}}\n"));
    let page = |path: &str| get(SocketAddr::from(([127, 0, 0, 1], http)), path).expect("an answer");
    let asked = Instant::now();
    let profile = page("/debug/pprof/profile?seconds=1");
    assert!(asked.elapsed() >= Duration::from_secs(1));
    assert!(profile.starts_with("HTTP/1.1 200 OK") && profile.contains("nanoseconds"), "{profile}");
    assert!(page("/debug/pprof/cmdline").contains("-conf\0Corefile"));
    assert!(page("/debug/pprof/heap").starts_with("HTTP/1.1 404"));
    assert!(page("/debug/pprof/nothing").starts_with("HTTP/1.1 404"));
    assert!(query_udp(server.addr(), "x.example.").is_some());
}
