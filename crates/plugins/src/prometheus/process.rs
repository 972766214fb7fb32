//! Process metrics, read from /proc at scrape. Names and help texts are those of Prometheus's Go client.

use std::fs;
use std::sync::OnceLock;

use metrics::{Collection, registry};

/// Unit of times in /proc/self/stat: 100 per second on every current Linux.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) fn register() {
    registry().set_collector("process", collect);
}

fn collect(found: &mut Collection) {
    let status = read("/proc/self/status");
    let stat = read("/proc/self/stat");
    if let Some(times) = Times::parse(&stat) {
        found.counter(
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            times.cpu_ticks / TICKS_PER_SECOND,
        );
        if let Some(boot) = boot_time() {
            found.gauge(
                "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds.",
                boot + times.start_ticks / TICKS_PER_SECOND,
            );
        }
    }
    let kilobytes = |key| field(&status, key).map(|value| value * 1024.0);
    let gauges = [
        ("process_virtual_memory_bytes", "Virtual memory size in bytes.", kilobytes("VmSize:")),
        ("process_resident_memory_bytes", "Resident memory size in bytes.", kilobytes("VmRSS:")),
        ("process_open_fds", "Number of open file descriptors.", open_files()),
    ];
    let limits = read("/proc/self/limits");
    let limits = [
        ("process_max_fds", "Maximum number of open file descriptors.", limit(&limits, "Max open files")),
        (
            "process_virtual_memory_max_bytes",
            "Maximum amount of virtual memory available in bytes.",
            limit(&limits, "Max address space"),
        ),
    ];
    let threads = field(&status, "Threads:");
    // Dashboards read an overload from goroutines; here tasks and threads accumulate.
    let tasks = server::runtime::handle().metrics().num_alive_tasks() as f64;
    let go_metrics = [
        ("go_goroutines", "Number of goroutines that currently exist.", threads.map(|n| n + tasks)),
        ("go_threads", "Number of OS threads created.", threads),
    ];
    for (name, help, value) in gauges.into_iter().chain(limits).chain(go_metrics) {
        if let Some(value) = value {
            found.gauge(name, help, value);
        }
    }
    let netstat = read("/proc/self/net/netstat");
    for (name, help, key) in [
        (
            "process_network_receive_bytes_total",
            "Number of bytes received by the process over the network.",
            "InOctets",
        ),
        (
            "process_network_transmit_bytes_total",
            "Number of bytes sent by the process over the network.",
            "OutOctets",
        ),
    ] {
        if let Some(value) = octets(&netstat, key) {
            found.counter(name, help, value);
        }
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

struct Times {
    cpu_ticks: f64,
    start_ticks: f64,
}

impl Times {
    fn parse(stat: &str) -> Option<Times> {
        // The second field is the program's name in brackets, and may itself contain blanks and brackets.
        let (_, rest) = stat.rsplit_once(')')?;
        let field = |number: usize| rest.split_whitespace().nth(number - 3)?.parse::<f64>().ok();
        Some(Times { cpu_ticks: field(14)? + field(15)?, start_ticks: field(22)? })
    }
}

/// Unix time at which the machine booted; constant.
fn boot_time() -> Option<f64> {
    static BOOT: OnceLock<Option<f64>> = OnceLock::new();
    *BOOT.get_or_init(|| field(&read("/proc/stat"), "btime"))
}

/// The number after `key` at the start of a line.
fn field(text: &str, key: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
}

/// The soft limit of a line of /proc/self/limits.
fn limit(text: &str, key: &str) -> Option<f64> {
    match text.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX as f64),
        number => number.parse().ok(),
    }
}

fn open_files() -> Option<f64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as f64)
}

/// A value of the `IpExt` lines: the first has the names, the second the values.
fn octets(netstat: &str, key: &str) -> Option<f64> {
    let mut lines = netstat.lines().filter(|line| line.starts_with("IpExt:"));
    let at = lines.next()?.split_whitespace().position(|name| name == key)?;
    lines.next()?.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_files_of_proc() {
        let stat = "42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 13 14 20 0 7 0 9000 1 2";
        let times = Times::parse(stat).unwrap();
        assert_eq!((times.cpu_ticks, times.start_ticks), (200.0, 9000.0));
        assert!(Times::parse("42").is_none());

        assert_eq!(field("VmSize:\t  12 kB\nVmRSS:\t 3 kB\n", "VmRSS:"), Some(3.0));
        let limits = "Max open files            1024                 4096                 files\n\
                      Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(limit(limits, "Max open files"), Some(1024.0));
        assert_eq!(limit(limits, "Max address space"), Some(18_446_744_073_709_551_615.0));
        let netstat = "TcpExt: InOctets\nTcpExt: 1\nIpExt: A InOctets OutOctets\nIpExt: 1 2 3\n";
        assert_eq!((octets(netstat, "InOctets"), octets(netstat, "OutOctets")), (Some(2.0), Some(3.0)));
        assert_eq!(octets("", "InOctets"), None);
    }
}
