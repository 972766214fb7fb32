//! Sockets on loopback: addresses, batches, and the source of replies.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6, UdpSocket as StdSocket};
use std::thread;
use std::time::Duration;

use net::{
    Epoll, Events, RecvBatch, SendBatch, SendReport, UdpOptions, UdpSocket, ipv6_unavailable,
    report_icmp_errors,
};

const TIMEOUT: Duration = Duration::from_secs(10);
const PKTINFO: UdpOptions = UdpOptions { recv_buffer: 1 << 20, send_buffer: 1 << 20, pktinfo: true };

fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn bind(text: &str, options: &UdpOptions) -> UdpSocket {
    UdpSocket::bind(addr(text), options).unwrap()
}

/// `None` on a machine without IPv6.
fn bind6(text: &str, options: &UdpOptions) -> Option<UdpSocket> {
    match UdpSocket::bind(addr(text), options) {
        Err(error) if ipv6_unavailable(&error) => {
            eprintln!("skipped: no IPv6 here ({error})");
            None
        }
        result => Some(result.unwrap()),
    }
}

/// A client connected to `server`, which so receives from it only.
fn client(server: SocketAddr) -> StdSocket {
    let any = if server.is_ipv4() { "127.0.0.1:0" } else { "[::]:0" };
    let socket = StdSocket::bind(any).unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket
}

fn receive(client: &StdSocket) -> Vec<u8> {
    let mut buffer = [0; 65536];
    let len = client.recv(&mut buffer).unwrap();
    buffer[..len].to_vec()
}

/// Waits for a datagram, then receives one batch.
fn recv(batch: &mut RecvBatch, server: &UdpSocket) -> usize {
    let epoll = Epoll::new().unwrap();
    epoll.add(server, 1).unwrap();
    assert_eq!(epoll.wait(&mut Events::with_capacity(1), Some(TIMEOUT)).unwrap(), 1, "no datagram arrived");
    batch.recv(server).unwrap()
}

/// Sends a query to each address of the server and expects the replies from that address.
fn check_reply_source(server: &UdpSocket, to: &[SocketAddr], pktinfo: bool) {
    let mut batch = RecvBatch::new(4, 512);
    let mut replies = SendBatch::new(4);
    for &to in to {
        let client = client(to);
        client.send(b"query").unwrap();
        assert_eq!(recv(&mut batch, server), 1);
        let packet = batch.packet(0);
        assert_eq!(packet.bytes, b"query");
        assert_eq!(packet.remote(), client.local_addr().unwrap(), "to {to}");
        assert_eq!(packet.local(), pktinfo.then_some(to.ip()), "to {to}");
        assert!(!packet.truncated);
        replies.buffer().extend_from_slice(b"batched");
        replies.commit(&packet.reply_to());
        assert_eq!(replies.send(server), SendReport { sent: 1, failed: 0 }, "to {to}");
        server.send_to(b"late", &packet.reply_to()).unwrap();
        assert_eq!(
            (receive(&client), receive(&client)),
            (b"batched".to_vec(), b"late".to_vec()),
            "from {to}"
        );
    }
}

fn with_port(ip: &str, server: &UdpSocket) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), server.local_addr().port())
}

#[test]
fn v4_address() {
    let server = bind("127.0.0.1:0", &UdpOptions::default());
    check_reply_source(&server, &[server.local_addr()], false);
}

#[test]
fn v4_address_with_pktinfo() {
    let server = bind("127.0.0.1:0", &PKTINFO);
    check_reply_source(&server, &[server.local_addr()], true);
}

#[test]
fn v4_wildcard_replies_from_the_queried_address() {
    let server = bind("0.0.0.0:0", &PKTINFO);
    check_reply_source(
        &server,
        &["127.0.0.1", "127.0.0.2", "127.9.9.9"].map(|ip| with_port(ip, &server)),
        true,
    );
}

#[test]
fn v6_address() {
    let Some(server) = bind6("[::1]:0", &UdpOptions::default()) else { return };
    check_reply_source(&server, &[server.local_addr()], false);
    // IPv6 only: the same port is free for IPv4.
    bind(&format!("127.0.0.1:{}", server.local_addr().port()), &UdpOptions::default());
}

#[test]
fn dual_stack_wildcard_replies_from_the_queried_address() {
    let Some(server) = bind6("[::]:0", &PKTINFO) else { return };
    check_reply_source(&server, &["127.0.0.1", "127.0.0.2", "::1"].map(|ip| with_port(ip, &server)), true);
}

#[test]
fn link_local_replies_by_the_same_interface() {
    let link_local = net::interfaces().unwrap().into_iter().flat_map(|interface| interface.addrs).find(
        |addr| matches!(addr, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() != 0),
    );
    let Some(SocketAddr::V6(own)) = link_local else {
        eprintln!("skipped: no link-local address here");
        return;
    };
    let Some(server) = bind6("[::]:0", &PKTINFO) else { return };
    let to = SocketAddrV6::new(*own.ip(), server.local_addr().port(), 0, own.scope_id());
    check_reply_source(&server, &[to.into()], true);
}

#[test]
fn many_in_one_batch() {
    let server = bind("127.0.0.1:0", &UdpOptions::default());
    let clients: Vec<StdSocket> = (0..20).map(|_| client(server.local_addr())).collect();
    for (i, client) in clients.iter().enumerate() {
        client.send(&vec![i as u8; i + 1]).unwrap();
    }
    // A batch is smaller than the number of datagrams, so there are at least two, and lengths differ between them.
    let mut batch = RecvBatch::new(16, 512);
    let mut replies = SendBatch::new(16);
    let mut left = clients.len();
    while left > 0 {
        let count = recv(&mut batch, &server);
        assert_eq!((batch.len(), batch.is_empty()), (count, false));
        for i in 0..count {
            let packet = batch.packet(i);
            let from = usize::from(packet.bytes[0]);
            assert_eq!(packet.bytes, vec![from as u8; from + 1]);
            assert_eq!(packet.remote(), clients[from].local_addr().unwrap());
            replies.buffer().extend_from_slice(packet.bytes);
            replies.commit(&packet.reply_to());
        }
        assert_eq!((replies.len(), replies.is_full()), (count, count == 16));
        assert_eq!(replies.send(&server), SendReport { sent: count, failed: 0 });
        assert!(replies.is_empty());
        left -= count;
    }
    for (i, client) in clients.iter().enumerate() {
        assert_eq!(receive(client), vec![i as u8; i + 1]);
    }
    assert_eq!(batch.recv(&server).unwrap(), 0);
    assert!(batch.is_empty());
}

#[test]
fn one_batch_serves_sockets_of_both_families() {
    let Some(v6) = bind6("[::1]:0", &PKTINFO) else { return };
    let v4 = bind("127.0.0.1:0", &UdpOptions::default());
    let mut batch = RecvBatch::new(2, 512);
    // Lengths of addresses and control messages must be reset between batches.
    for server in [&v6, &v4, &v6, &v4, &v6] {
        let client = client(server.local_addr());
        client.send(b"x").unwrap();
        assert_eq!(recv(&mut batch, server), 1);
        assert_eq!(batch.packet(0).remote().ip(), server.local_addr().ip());
        assert_eq!(batch.packet(0).local().is_some(), server.local_addr().is_ipv6());
    }
}

#[test]
fn oversized_datagram_is_flagged() {
    let server = bind("127.0.0.1:0", &UdpOptions::default());
    let client = client(server.local_addr());
    let mut batch = RecvBatch::new(1, 100);
    for (sent, seen, truncated) in [
        (99, 99, false),
        (100, 100, false),
        (101, 100, true),
        (5000, 100, true),
        (0, 0, false),
        (100, 100, false),
    ] {
        client.send(&vec![7; sent]).unwrap();
        assert_eq!(recv(&mut batch, &server), 1);
        let packet = batch.packet(0);
        assert_eq!((packet.bytes, packet.truncated), (&vec![7; seen][..], truncated), "{sent} bytes");
    }
}

#[test]
#[should_panic(expected = "out of bounds")]
fn packet_of_an_older_batch_is_out_of_bounds() {
    let server = bind("127.0.0.1:0", &UdpOptions::default());
    client(server.local_addr()).send(b"x").unwrap();
    let mut batch = RecvBatch::new(2, 100);
    assert_eq!(recv(&mut batch, &server), 1);
    assert_eq!(batch.recv(&server).unwrap(), 0);
    batch.packet(0);
}

#[test]
fn late_reply_from_another_thread() {
    let Some(server) = bind6("[::]:0", &PKTINFO) else { return };
    let client = client(with_port("127.0.0.2", &server));
    client.send(b"slow").unwrap();
    let mut batch = RecvBatch::new(1, 512);
    assert_eq!(recv(&mut batch, &server), 1);
    let to = batch.packet(0).reply_to();
    drop(batch);
    assert_eq!(
        (to.remote(), to.local()),
        (client.local_addr().unwrap(), Some(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2))))
    );
    thread::scope(|scope| {
        scope.spawn(|| server.send_to(b"answer", &to).unwrap());
    });
    assert_eq!(receive(&client), b"answer");
}

#[test]
fn a_refused_reply_drops_no_other() {
    let server = bind("127.0.0.1:0", &UdpOptions::default());
    let client = client(server.local_addr());
    client.send(b"x").unwrap();
    let mut batch = RecvBatch::new(1, 512);
    assert_eq!(recv(&mut batch, &server), 1);
    let to = batch.packet(0).reply_to();
    // More than a datagram can hold: EMSGSIZE. First, in the middle, twice in a row, last.
    let too_large = 70_000;
    let mut replies = SendBatch::new(8);
    for len in [too_large, 1, 2, too_large, too_large, 3, too_large] {
        replies.buffer().resize(len, 0);
        replies.commit(&to);
    }
    assert_eq!(replies.send(&server), SendReport { sent: 3, failed: 4 });
    assert_eq!([1, 2, 3].map(|_| receive(&client).len()), [1, 2, 3]);
    assert_eq!(server.send_to(&vec![0; too_large], &to).unwrap_err().raw_os_error(), Some(90), "EMSGSIZE");
}

#[test]
fn buffer_without_commit_stays_free() {
    let server = bind("127.0.0.1:0", &UdpOptions::default());
    let client = client(server.local_addr());
    client.send(b"x").unwrap();
    let mut batch = RecvBatch::new(1, 512);
    assert_eq!(recv(&mut batch, &server), 1);
    let mut replies = SendBatch::new(1);
    replies.buffer().extend_from_slice(b"dropped");
    assert_eq!(replies.send(&server), SendReport::default());
    assert!(replies.buffer().is_empty() && replies.buffer().capacity() >= 4096);
    replies.buffer().extend_from_slice(b"kept");
    replies.commit(&batch.packet(0).reply_to());
    assert!(replies.is_full());
    assert_eq!(replies.send(&server).sent, 1);
    assert_eq!(receive(&client), b"kept");
}

#[test]
fn reuseport_shares_a_port() {
    let one = bind("127.0.0.1:0", &UdpOptions::default());
    let two = UdpSocket::bind(one.local_addr(), &UdpOptions::default()).unwrap();
    assert_eq!(one.local_addr(), two.local_addr());
    // The kernel chooses by a hash of both addresses; all 64 clients get the same socket once in 2^63 runs.
    for _ in 0..64 {
        client(one.local_addr()).send(b"x").unwrap();
    }
    let epoll = Epoll::new().unwrap();
    epoll.add(&one, 0).unwrap();
    epoll.add(&two, 1).unwrap();
    let mut events = Events::with_capacity(2);
    let mut batch = RecvBatch::new(64, 16);
    let mut counts = [0, 0];
    while counts[0] + counts[1] < 64 {
        assert!(epoll.wait(&mut events, Some(TIMEOUT)).unwrap() > 0, "{counts:?}");
        for token in events.tokens() {
            let socket = if token == 0 { &one } else { &two };
            counts[token as usize] += batch.recv(socket).unwrap();
        }
    }
    assert!(counts[0] > 0 && counts[1] > 0, "{counts:?}");
}

#[test]
fn receiving_nothing_is_no_error() {
    let server = bind("127.0.0.1:0", &UdpOptions::default());
    assert_eq!(RecvBatch::new(4, 16).recv(&server).unwrap(), 0);
}

#[test]
fn batches_and_sockets_cross_threads() {
    fn check<T: Send + Sync>() {}
    check::<UdpSocket>();
    check::<RecvBatch>();
    check::<SendBatch>();
    check::<net::ReplyTo>();
    check::<Epoll>();
    check::<net::Waker>();
    assert!(size_of::<net::ReplyTo>() <= 56);
}

#[test]
fn ipv6_unavailable_table() {
    // EAFNOSUPPORT, EADDRNOTAVAIL; EADDRINUSE, EACCES
    for (errno, expected) in [(97, true), (99, true), (98, false), (13, false)] {
        assert_eq!(ipv6_unavailable(&io::Error::from_raw_os_error(errno)), expected, "{errno}");
    }
}

#[test]
fn counters_see_our_datagrams() {
    let server = bind("127.0.0.1:0", &UdpOptions::default());
    let before = net::udp_counters().unwrap();
    client(server.local_addr()).send(b"x").unwrap();
    assert_eq!(recv(&mut RecvBatch::new(1, 16), &server), 1);
    let after = net::udp_counters().unwrap();
    assert!(after.in_datagrams > before.in_datagrams && after.out_datagrams > before.out_datagrams);
}

#[test]
fn icmp_errors_reach_a_socket_that_is_not_connected() {
    for any in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(socket) = StdSocket::bind(any) else { continue };
        let closed = StdSocket::bind(any).and_then(|socket| socket.local_addr()).unwrap();
        report_icmp_errors(&socket, closed).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        socket.send_to(b"x", closed).unwrap();
        assert_eq!(socket.recv(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionRefused, "{any}");
    }
}
