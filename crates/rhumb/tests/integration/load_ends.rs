//! Shutdown and reload finish in time under floods beyond the server's capacity, while other addresses answer; waiting
//! queries cost little memory and are all counted.

use std::cell::Cell;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::{DnsServer, Kind};
use wire::{NameBuf, Query, Rtype};

/// Time limit for a shutdown, after the lameduck period.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(3);
/// Every flood stops after this, even if the test hangs.
const FLOOD_LIMIT: Duration = Duration::from_secs(60);

fn packet(name: &str) -> Vec<u8> {
    Query::ask(NameBuf::parse(name).expect("a name").as_name(), Rtype::A).to_packet()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Udp,
    Tcp,
}

/// Senders that do not wait for answers.
struct Flood {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Flood {
    fn start(to: SocketAddr, transport: Transport, senders: usize) -> Flood {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..senders).map(|_| {
            let (stop, end) = (Arc::clone(&stop), Instant::now() + FLOOD_LIMIT);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) && Instant::now() < end {
                    match transport {
                        Transport::Udp => send_datagrams(to, &stop, end),
                        Transport::Tcp => send_stream(to, &stop, end),
                    }
                }
            })
        });
        Flood { threads: threads.collect(), stop }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn send_datagrams(to: SocketAddr, stop: &AtomicBool, end: Instant) {
    let packet = packet("a.example.org.");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    while !stop.load(Ordering::Relaxed) && Instant::now() < end {
        for _ in 0..1_000 {
            let _ = socket.send_to(&packet, to);
        }
    }
}

/// Writes to one connection while it accepts data; reads nothing.
fn send_stream(to: SocketAddr, stop: &AtomicBool, end: Instant) {
    let packet = packet("a.example.org.");
    let frame = [&(packet.len() as u16).to_be_bytes()[..], &packet].concat().repeat(100);
    let Ok(mut stream) = TcpStream::connect_timeout(&to, Duration::from_millis(200)) else {
        return std::thread::sleep(Duration::from_millis(5));
    };
    let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
    while !stop.load(Ordering::Relaxed) && Instant::now() < end && stream.write_all(&frame).is_ok() {}
}

fn is_answered(socket: &UdpSocket, to: SocketAddr, timeout: Duration) -> bool {
    let mut buffer = [0; 512];
    let _ = socket.set_read_timeout(Some(timeout));
    socket.send_to(&packet("a.example.org."), to).is_ok() && socket.recv(&mut buffer).is_ok()
}

fn block(port: u16, more: &str) -> String {
    format!(".:{port} {{\n bind 127.0.0.1\n {more}\n hosts {{\n 10.0.0.1 a.example.org\n }}\n}}\n")
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

fn free() -> u16 {
    testkit::ports::free().expect("a port")
}

fn variants() -> impl Iterator<Item = (Transport, usize)> {
    [(Transport::Udp, 1), (Transport::Udp, 4), (Transport::Tcp, 1), (Transport::Tcp, 4)].into_iter()
}

fn wait_until(what: &str, timeout: Duration, condition: impl Fn() -> bool) -> Duration {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < timeout, "not within {timeout:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

#[test]
fn sigterm_ends_a_flooded_server() {
    for (transport, senders) in variants() {
        for lameduck in [0, 1] {
            let (port, health) = (free(), free());
            let more = match lameduck {
                0 => String::new(),
                seconds => format!("health 127.0.0.1:{health} {{\n lameduck {seconds}s\n }}"),
            };
            let server = DnsServer::start(Kind::Rhumb, &block(port, &more), port).expect("it starts");
            let flood = Flood::start(loopback(port), transport, senders);
            std::thread::sleep(Duration::from_millis(500));
            let began = Instant::now();
            server.process().signal(Signal::TERM).expect("signalled");
            let most = Duration::from_secs(lameduck) + SHUTDOWN_LIMIT;
            let ended = server.process().wait(most);
            println!("{transport:?} from {senders}, lameduck {lameduck}s: {:?}", began.elapsed());
            assert!(ended.is_ok(), "{transport:?} from {senders}: {}", server.output());
            drop(flood);
        }
    }
}

#[test]
fn reload_that_drops_a_flooded_address_does_not_affect_others() {
    for (transport, senders) in variants() {
        let (flooded, other) = (free(), free());
        let both = format!("{}{}", block(flooded, ""), block(other, ""));
        let server = DnsServer::start(Kind::Rhumb, &both, other).expect("it starts");
        let flood = Flood::start(loopback(flooded), transport, senders);
        let (asked, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
                while !stop.load(Ordering::Relaxed) {
                    asked.fetch_add(1, Ordering::Relaxed);
                    answered.fetch_add(
                        usize::from(is_answered(&socket, loopback(other), Duration::from_secs(2))),
                        Ordering::Relaxed,
                    );
                }
            });
            std::thread::sleep(Duration::from_millis(300));
            std::fs::write(server.folder().join("Corefile"), block(other, "")).expect("written");
            server.process().signal(Signal::USR1).expect("signalled");
            let took =
                wait_until("the reload", SHUTDOWN_LIMIT, || server.output().contains("Reloading complete"));
            println!("{transport:?} from {senders}: reloaded after {took:?}");
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        drop(flood);
        let (asked, answered) = (asked.into_inner(), answered.into_inner());
        assert!(asked > 20 && answered == asked, "{transport:?} from {senders}: {answered} of {asked}");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        assert!(
            !is_answered(&socket, loopback(flooded), Duration::from_millis(300)),
            "the address is given up"
        );
    }
}

#[test]
fn unread_log_blocks_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let corefile = folder.path().join("Corefile");
    let port = free();
    std::fs::write(&corefile, block(port, "log\n errors")).expect("written");
    let mut child = Command::new(testkit::rhumb::binary().expect("the binary"))
        .arg("-conf")
        .arg(&corefile)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let pid = rustix::process::Pid::from_child(&child);
    let to = loopback(port);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    wait_until("the first answer", Duration::from_secs(20), || {
        is_answered(&socket, to, Duration::from_millis(100))
    });
    // More than the pipe and all queues can hold.
    let flood = Flood::start(to, Transport::Udp, 1);
    std::thread::sleep(Duration::from_secs(2));
    drop(flood);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    wait_until("answers go on", Duration::from_secs(5), || {
        is_answered(&socket, to, Duration::from_millis(500))
    });
    // A reload that opens another port.
    let next = free();
    std::fs::write(&corefile, block(next, "log\n errors")).expect("written");
    rustix::process::kill_process(pid, Signal::USR1).expect("signalled");
    wait_until("the reload", Duration::from_secs(5), || {
        is_answered(&socket, loopback(next), Duration::from_millis(100))
    });
    rustix::process::kill_process(pid, Signal::TERM).expect("signalled");
    let took = wait_until("the end", SHUTDOWN_LIMIT, || {
        rustix::process::test_kill_process(pid).is_err()
            || std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
                .is_ok_and(|stat| stat.contains(") Z "))
    });
    println!("ended after {took:?}");
    let _ = child.kill();
    let _ = child.wait();
}

/// Memory limit per waiting UDP query in [`waiting_is_cheap_and_counted`].
const BYTES_PER_WAITING_QUERY: f64 = 5.0 * 1024.0;

/// The sum of the metrics whose lines start with `start`.
fn number(http: u16, start: &str) -> f64 {
    let text = testkit::dns_server::get(http, "/metrics").expect("metrics");
    let lines = text.lines().filter(|line| line.starts_with(start));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// Queries received and replies sent, from the server's counters.
fn counted(http: u16) -> (f64, f64) {
    (number(http, "coredns_dns_requests_total{"), number(http, "coredns_dns_responses_total{"))
}

fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("a line");
    let kilobytes = line.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    kilobytes.expect("a number") * 1024
}

/// Queries with distinct names, so that no two are coalesced.
fn queries(count: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(|number| packet(&format!("name-{number}.example.org.")))
}

/// Ten thousand queries wait for an upstream that never answers; more are refused.
#[test]
fn waiting_is_cheap_and_counted() {
    const LIMIT: usize = 10_000;
    let (port, http) = (free(), free());
    let hole = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let upstream = hole.local_addr().expect("its address");
    let corefile = format!(
        ".:{port} {{\n bind 127.0.0.1\n prometheus 127.0.0.1:{http} {{\n runtime_metrics\n }}\n cache 30\n \
         forward . {upstream} {{\n max_fails 0\n }}\n}}\n"
    );
    let server = DnsServer::start(Kind::Rhumb, &corefile, port).expect("it starts");
    let pid = server.process().pid();
    let (requests_before, responses_before) = counted(http);
    let before = resident(pid);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut sent = 0_u32;
    // As fast as a debug build receives them: packets lost before it would not be counted.
    for query in queries(LIMIT) {
        socket.send_to(&query, loopback(port)).expect("sent");
        sent += 1;
        if sent.is_multiple_of(50) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let waiting = number(http, "rhumb_waiting_queries ");
    let most = resident(pid) - before;
    println!("{:.0} bytes for each of {waiting} that wait", most as f64 / waiting);
    assert!(waiting > LIMIT as f64 * 0.8, "only {waiting} wait");
    // One beyond the limit, over each transport.
    for query in queries(200) {
        socket.send_to(&query, loopback(port)).expect("sent");
        sent += 1;
    }
    let mut stream = TcpStream::connect(loopback(port)).expect("connected");
    for query in queries(200) {
        let frame = [&(query.len() as u16).to_be_bytes()[..], &query].concat();
        stream.write_all(&frame).expect("sent");
        sent += 1;
    }
    let timeout = Duration::from_secs(15);
    // The wait includes the second attempt.
    let most = Cell::new(most);
    wait_until("all are counted", timeout, || {
        most.set(most.get().max(resident(pid).saturating_sub(before)));
        let (requests, responses) = counted(http);
        requests - requests_before == f64::from(sent) && responses - responses_before == f64::from(sent)
    });
    let each = most.get() as f64 / waiting;
    println!("{each:.0} bytes at most");
    if !cfg!(debug_assertions) || std::env::var_os("RHUMB_BIN").is_some() {
        assert!(each <= BYTES_PER_WAITING_QUERY, "{each} bytes each");
    }
    // The cache now has ten thousand failures.
    wait_until("memory is given back", timeout, || resident(pid).saturating_sub(before) < most.get() / 4);
    println!("{} of {} bytes left when nobody waits", resident(pid).saturating_sub(before), most.get());
}
