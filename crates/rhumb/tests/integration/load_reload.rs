//! Under load, reloads and a shutdown with lameduck lose no query.
//!
//! The load is 80 % of the measured capacity; the server has one CPU and dnsperf the other. Meanwhile the server
//! reloads twenty times, every second time with a bad Corefile.

use std::time::Duration;

use rustix::process::Signal;
use testkit::dnsperf::{Load, Summary};
use testkit::{DnsServer, Kind};

const GOOD: &str = ".:{port} {\n bind 127.0.0.1\n errors\n loadbalance\n health 127.0.0.1:{health} {\n lameduck 8s\n }\n hosts {\n 10.0.0.1 a.example.org\n 10.0.0.2 a.example.org b.example.org\n ttl {ttl}\n }\n}\n";
const BAD: [&str; 2] =
    [".:{port} {\n nosuchplugin\n}\n", ".:{port} {\n bind 127.0.0.1\n hosts {\n ttl many\n }\n}\n"];

fn load(server: &DnsServer, seconds: u64, rate: Option<u32>) -> Summary {
    let mut load = Load::new(server.addr(), "a.example.org A\nb.example.org A\na.example.org AAAA\n");
    load.duration = Duration::from_secs(seconds);
    load.rate = rate;
    load.clients = 16;
    load.cpu = Some(1);
    // Large socket buffers for dnsperf too: only the server is under test.
    load.args = ["-b", "4096", "-q", "1000"].map(String::from).to_vec();
    load.run().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn reloads_and_shutdown_lose_no_query() {
    let port = testkit::ports::free().expect("a port");
    let health = testkit::ports::free().expect("a port");
    let fill = |text: &str, ttl: u32| {
        let text = text.replace("{port}", &port.to_string()).replace("{health}", &health.to_string());
        text.replace("{ttl}", &ttl.to_string())
    };
    let server =
        DnsServer::start(Kind::Rhumb, &fill(GOOD, 60), port).unwrap_or_else(|error| panic!("{error}"));
    let corefile = server.folder().join("Corefile");
    pin(server.process().pid(), 0);

    let most = load(&server, 3, None).queries_per_second;
    let rate = (most * 0.8) as u32;
    let before = net::udp_counters().expect("counters");

    // Twenty reloads, one each half second, good and bad, by both signals.
    let summary = std::thread::scope(|scope| {
        let loading = scope.spawn(|| load(&server, 12, Some(rate)));
        std::thread::sleep(Duration::from_millis(500));
        for round in 0..20u32 {
            let text =
                if round % 2 == 0 { fill(GOOD, 61 + round) } else { fill(BAD[(round / 2 % 2) as usize], 0) };
            std::fs::write(&corefile, text).expect("written");
            let signal = if round % 4 < 2 { Signal::USR1 } else { Signal::HUP };
            server.process().signal(signal).expect("signalled");
            std::thread::sleep(Duration::from_millis(500));
        }
        loading.join().expect("dnsperf ran")
    });
    println!("at most {most:.0}/s; reloads at {rate}/s: {} sent, {} lost", summary.sent, summary.lost);
    assert_eq!(summary.lost, 0, "{summary:?}");
    assert!(summary.sent > 10_000, "{summary:?}");
    let output = server.output();
    assert_eq!(output.matches("Reloading complete").count(), 10, "{output}");
    assert_eq!(output.matches("[ERROR] SIG").count(), 10, "{output}");

    // Lameduck outlasts the load.
    let summary = std::thread::scope(|scope| {
        let loading = scope.spawn(|| load(&server, 4, Some(rate)));
        std::thread::sleep(Duration::from_secs(1));
        server.process().signal(Signal::TERM).expect("signalled");
        loading.join().expect("dnsperf ran")
    });
    println!("stop: {} sent, {} lost", summary.sent, summary.lost);
    assert_eq!(summary.lost, 0, "{summary:?}");
    let status = server.process().wait(Duration::from_secs(15)).expect("it ends after lameduck");
    assert!(status.success(), "{status}");
    assert!(server.output().contains("Going into lameduck mode for 8s"));

    let after = net::udp_counters().expect("counters");
    assert_eq!(
        (after.in_errors - before.in_errors, after.rcvbuf_errors - before.rcvbuf_errors),
        (0, 0),
        "the kernel dropped packets"
    );
}

/// Pins all current threads of the process; new ones inherit it.
fn pin(pid: u32, cpu: usize) {
    let status = std::process::Command::new("taskset")
        .args(["-a", "-p", "-c", &cpu.to_string(), &pid.to_string()])
        .stdout(std::process::Stdio::null())
        .status()
        .expect("taskset of util-linux");
    assert!(status.success());
}
