//! CoreDNS against itself: any difference found here is a fault of the comparison.

use testkit::compare::{Comparison, Line};
use testkit::peers::Peer;
use testkit::query::{Generator, Options, Pool};
use testkit::{DnsServer, Kind, dnsperf, logs};

const COREFILE: &str = "\
example.org:{port} in-addr.arpa:{port} {
    bind 127.0.0.1
    log
    errors
    nsid rhumb-test
    hosts {
        10.0.0.1 a.example.org
        10.0.0.2 a.example.org b.example.org
        2001:db8::1 a.example.org
        fallthrough
    }
    template IN TXT {
        answer \"{{ .Name }} 60 IN TXT hello\"
    }
    template ANY ANY c.example.org {
        rcode NXDOMAIN
        authority \"example.org 60 IN SOA ns.example.org h.example.org 1 2 3 4 5\"
    }
    whoami
}
example.com:{port} {
    bind 127.0.0.1
    log
    whoami
}
";

fn pools() -> [Pool; 2] {
    [
        Pool::new(
            4,
            ["a.example.org", "b.example.org", "c.example.org", "1.0.0.10.in-addr.arpa", "example.org"],
        ),
        Pool::new(1, ["example.com", "_http._tcp.x.example.com", "elsewhere.net"]),
    ]
}

#[test]
fn equals_itself() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let left = DnsServer::start_on_free_port(Kind::CoreDns, COREFILE).unwrap();
    let right = DnsServer::start_on_free_port(Kind::CoreDns, COREFILE).unwrap();
    let generator = Generator::from_env(pools(), Options { malformed: 0.1, ..Options::default() });
    let report =
        Comparison::new(("left", left.addr()), ("right", right.addr())).lanes(16).check(generator, 500);
    println!("{} silent, {:?}", report.silent, report.rcodes);
    assert_eq!(report.queries, 500);
    for rcode in ["NOERROR", "NXDOMAIN", "REFUSED", "FORMERR"] {
        assert!(report.rcodes.contains_key(rcode), "{rcode} never came: {:?}", report.rcodes);
    }

    // The logs are equal, too. The last lines may not be in the pipe yet.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let lines = |server: &DnsServer| logs::query_lines(server.process().lines().iter().map(String::as_str));
    let (left, right) = (lines(&left), lines(&right));
    assert!(left.len() > 200, "{} lines", left.len());
    let differing = logs::compare(&left, &right);
    assert_eq!(differing, [] as [Line; 0]);
}

#[test]
fn finds_differences_of_another_configuration() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let other = COREFILE.replace("10.0.0.1 a.example.org", "10.0.0.9 a.example.org");
    let left = DnsServer::start_on_free_port(Kind::CoreDns, COREFILE).unwrap();
    let right = DnsServer::start_on_free_port(Kind::CoreDns, &other).unwrap();
    let comparison = Comparison::new(("left", left.addr()), ("right", right.addr()));
    let generator = || Generator::new(1, pools(), Options::default());
    let report = comparison.run(generator(), 200).unwrap();
    assert!(!report.differences.is_empty());
    let text = report.differences.iter().map(ToString::to_string).collect::<String>();
    assert!(text.contains("10.0.0.9") && text.contains("+++ right"), "{text}");

    let all = report.differences.len();
    let report = comparison.accept(|_| Some("on purpose")).run(generator(), 200).unwrap();
    assert_eq!((report.differences.len(), report.accepted["on purpose"]), (0, all));
}

#[test]
fn bad_corefile_is_reported_with_its_error() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let e = DnsServer::start_on_free_port(Kind::CoreDns, ".:{port} {\n    nosuchplugin\n}\n").err().unwrap();
    assert!(e.to_string().contains("nosuchplugin"), "{e}");
}

#[test]
fn measures_a_short_load() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    if std::process::Command::new("dnsperf").arg("-h").output().is_err() {
        println!("skipped: dnsperf is not installed");
        return;
    }
    let server = DnsServer::start_on_free_port(Kind::CoreDns, COREFILE).unwrap();
    let mut load = dnsperf::Load::new(server.addr(), "a.example.org A\nc.example.org A\n");
    load.duration = std::time::Duration::from_secs(1);
    load.rate = Some(200);
    let summary = load.run().unwrap();
    assert!(summary.completed > 100 && summary.sent >= summary.completed, "{summary:?}");
    assert!(summary.rcodes["NOERROR"] > 0 && summary.rcodes["NXDOMAIN"] > 0, "{summary:?}");
}
