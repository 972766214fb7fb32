//! The kernel's datagram counters, including drops before a socket receives them.

use std::{fs, io};

/// Counters of the network namespace, IPv4 and IPv6 summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpCounters {
    pub in_datagrams: u64,
    /// To a port without a listener.
    pub no_ports: u64,
    pub in_errors: u64,
    pub out_datagrams: u64,
    /// Dropped because a socket's receive buffer was full.
    pub rcvbuf_errors: u64,
    pub sndbuf_errors: u64,
}

/// Reads `/proc/net/snmp` and, if the kernel has IPv6, `/proc/net/snmp6`.
pub fn udp_counters() -> io::Result<UdpCounters> {
    let v4 = fs::read_to_string("/proc/net/snmp")?;
    let v6 = match fs::read_to_string("/proc/net/snmp6") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        result => result?,
    };
    Ok(parse(&v4, &v6))
}

/// Missing or invalid fields are 0: kernels differ in their fields.
fn parse(snmp: &str, snmp6: &str) -> UdpCounters {
    let mut counters = UdpCounters::default();
    // Two lines, names and values: `Udp: InDatagrams NoPorts …` and `Udp: 12 0 …`.
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Udp:"));
    if let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            counters.add(name, value);
        }
    }
    // One line each: `Udp6InDatagrams 12`.
    for line in snmp6.lines().filter_map(|line| line.strip_prefix("Udp6")) {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(value)) = (words.next(), words.next()) {
            counters.add(name, value);
        }
    }
    counters
}

impl UdpCounters {
    fn add(&mut self, name: &str, value: &str) {
        let field = match name {
            "InDatagrams" => &mut self.in_datagrams,
            "NoPorts" => &mut self.no_ports,
            "InErrors" => &mut self.in_errors,
            "OutDatagrams" => &mut self.out_datagrams,
            "RcvbufErrors" => &mut self.rcvbuf_errors,
            "SndbufErrors" => &mut self.sndbuf_errors,
            _ => return,
        };
        *field = field.wrapping_add(value.parse().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "\
Ip: Forwarding DefaultTTL InReceives
Ip: 1 64 1000
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 100 2 3 98 4 5 0 0 0
UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
UdpLite: 7 7 7 7 7 7 7 7 7
";
    const SNMP6: &str = "\
Ip6InReceives                   \t33
Udp6InDatagrams                 \t10
Udp6NoPorts                     \t1
Udp6InErrors                    \t2
Udp6OutDatagrams                \t9
Udp6RcvbufErrors                \t3
Udp6SndbufErrors                \t4
Udp6InCsumErrors                \t8
UdpLite6InDatagrams             \t7
";

    fn counters(n: [u64; 6]) -> UdpCounters {
        let [in_datagrams, no_ports, in_errors, out_datagrams, rcvbuf_errors, sndbuf_errors] = n;
        UdpCounters { in_datagrams, no_ports, in_errors, out_datagrams, rcvbuf_errors, sndbuf_errors }
    }

    #[test]
    fn parse_table() {
        let table = [
            (SNMP, SNMP6, [110, 3, 5, 107, 7, 9]),
            (SNMP, "", [100, 2, 3, 98, 4, 5]),
            ("", SNMP6, [10, 1, 2, 9, 3, 4]),
            ("Udp: NoPorts InDatagrams\nUdp: 1 2\n", "", [2, 1, 0, 0, 0, 0]),
            ("Udp: InDatagrams NoPorts\nUdp: x\n", "Udp6InDatagrams\nUdp6NoPorts 9", [0, 9, 0, 0, 0, 0]),
            ("Udp: InDatagrams", "Udp6", [0; 6]),
        ];
        for (snmp, snmp6, expected) in table {
            assert_eq!(parse(snmp, snmp6), counters(expected), "{snmp:?} {snmp6:?}");
        }
    }
}
