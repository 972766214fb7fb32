//! A reload is complete or has no effect: whichever step fails, all of the old configuration keeps serving, and a later
//! good reload succeeds.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal};
use testkit::{DnsServer, Kind, client, dns_server};
use wire::{NameBuf, Query, Rtype};

const TIMEOUT: Duration = Duration::from_secs(20);

struct Fixture {
    server: DnsServer,
    /// Two for DNS and one for HTTP of the serving configuration, then three for the next one.
    ports: [u16; 6],
    /// The last octet of the answer, which identifies the configuration.
    octet: u8,
}

/// Two DNS addresses and an HTTP page, or with `more` twice as many.
fn corefile(ports: &[u16], octet: u8, more: &str) -> String {
    let hosts = format!("hosts {{\n 10.0.0.{octet} a.example.org\n }}");
    let blocks = ports.chunks(3).map(|ports| {
        let [first, second, http] = ports else { panic!("three ports") };
        format!(
            ".:{first} {{\n bind 127.0.0.1\n ready 127.0.0.1:{http}\n {hosts}\n {more}\n}}\n\
             .:{second} {{\n bind 127.0.0.1\n {hosts}\n}}\n"
        )
    });
    blocks.collect()
}

impl Fixture {
    fn start() -> Fixture {
        let ports = [0; 6].map(|_| testkit::ports::free().expect("a port"));
        let server = DnsServer::start(Kind::Rhumb, &corefile(&ports[..3], 1, ""), ports[0]);
        Fixture { server: server.unwrap_or_else(|error| panic!("{error}")), ports, octet: 1 }
    }

    /// Reloads; true on success.
    fn reload(&self, corefile: &str) -> bool {
        std::fs::write(self.server.folder().join("Corefile"), corefile).expect("written");
        let counts = || {
            let output = self.server.output();
            (output.matches("Reloading complete").count(), output.matches("[ERROR] SIGUSR1").count())
        };
        let (good, bad) = counts();
        self.server.process().signal(Signal::USR1).expect("signalled");
        let end = Instant::now() + TIMEOUT;
        loop {
            match counts() {
                (now, _) if now > good => return true,
                (_, now) if now > bad => return false,
                _ => assert!(Instant::now() < end, "no end of the reload:\n{}", self.server.output()),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Checks that the expected configuration serves, and no other.
    fn check(&self, what: &str) {
        let query = Query::ask(NameBuf::parse("a.example.org.").expect("a name").as_name(), Rtype::A);
        for port in &self.ports[..2] {
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            let transports = [client::Transport::Udp, client::Transport::Tcp];
            for transport in transports {
                let outcome = client::query(addr, transport, &query.to_packet(), TIMEOUT).expect("asked");
                let octet = outcome.reply().and_then(<[u8]>::last).copied();
                assert_eq!(octet, Some(self.octet), "{what}: {transport:?} on {port}");
            }
        }
        let page = dns_server::get(self.ports[2], "/ready").unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(page.starts_with("HTTP/1.0 200"), "{what}: {page}");
        for port in &self.ports[3..] {
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            // Another test may have taken one of the two.
            let free = UdpSocket::bind(addr).is_ok() || TcpListener::bind(addr).is_ok();
            assert!(free, "{what}: {port} is still in use");
        }
    }

    /// Checks that a further reload on the same addresses succeeds.
    fn check_next(&mut self, what: &str) {
        self.octet += 1;
        assert!(self.reload(&corefile(&self.ports[..3], self.octet, "")), "{what}: a good one");
        self.check(what);
    }
}

#[test]
fn failure_of_any_step_keeps_the_old_configuration() {
    let mut fixture = Fixture::start();
    fixture.check("at first");
    let all = fixture.ports;
    let addr = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let larger = |more: &str| corefile(&all, 200, more);
    let cases = [
        ("a file that cannot be parsed", ".:53 {\n".to_owned()),
        ("a directive that is not known", larger("nonsense")),
        ("an option that is wrong", larger("bufsize many")),
        ("a cluster that cannot be watched", larger("kubernetes {\n kubeconfig /nonexistent\n }")),
    ];
    for (what, text) in cases {
        assert!(!fixture.reload(&text), "{what}");
        fixture.check(what);
        fixture.check_next(what);
    }
    for (what, port, udp) in [
        ("a UDP port in use", all[4], true),
        ("a TCP port in use", all[4], false),
        ("an HTTP port in use", all[5], false),
    ] {
        let taken_udp = udp.then(|| UdpSocket::bind(addr(port)).expect("taken"));
        let taken_tcp = (!udp).then(|| TcpListener::bind(addr(port)).expect("taken"));
        assert!(!fixture.reload(&larger("")), "{what}");
        fixture.check(what);
        drop((taken_udp, taken_tcp));
        fixture.check_next(what);
    }
}

/// Raises the limit by one descriptor each time, so that every step that needs one fails once.
#[test]
fn running_out_of_descriptors_keeps_the_old_configuration() {
    let mut fixture = Fixture::start();
    fixture.check("at first");
    let pid = rustix::process::Pid::from_raw(fixture.server.process().pid() as i32);
    // The server inherited our hard limit and raised its soft limit to it.
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    let limit = |current| {
        let limited = rustix::process::prlimit(pid, Resource::Nofile, Rlimit { current, maximum });
        limited.expect("limited");
    };
    let larger = corefile(&fixture.ports, 200, "multisocket 3");
    let mut failures = 0;
    for more in 0..100 {
        let folder = format!("/proc/{}/fd", fixture.server.process().pid());
        let open = std::fs::read_dir(folder).expect("descriptors").flatten();
        let open: Vec<u64> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        limit((0..).filter(|number| !open.contains(number)).nth(more));
        if fixture.reload(&larger) {
            break;
        }
        failures += 1;
        limit(maximum);
        fixture.check(&format!("{more} descriptors"));
        if more % 5 == 0 {
            fixture.check_next(&format!("{more} descriptors"));
        }
    }
    limit(maximum);
    println!("{failures} reloads failed before there were enough descriptors");
    assert!((3..100).contains(&failures), "{failures}");
    fixture.check_next("after all");
}
