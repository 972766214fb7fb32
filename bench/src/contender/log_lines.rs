//! Dropped lines of a query log. CoreDNS waits until a line is written; Rhumb drops lines rather than wait, and counts
//! them in its metrics.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use testkit::error::{Context, Error, Result};

const TIMEOUT: Duration = Duration::from_secs(5);

/// Number of lines dropped since the server's start.
pub fn dropped(metrics: SocketAddr) -> Result<u64> {
    let mut stream = TcpStream::connect_timeout(&metrics, TIMEOUT).context("metrics")?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text).context("metrics")?;
    value(&text).ok_or_else(|| Error::new("the metrics lack rhumb_log_lines_dropped_total"))
}

fn value(text: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix("rhumb_log_lines_dropped_total "))?;
    value.trim().parse::<f64>().ok().map(|lines| lines as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for (text, expected) in [
            ("# TYPE rhumb_log_lines_dropped_total counter\nrhumb_log_lines_dropped_total 12\n", Some(12)),
            ("rhumb_log_lines_dropped_total 1e+06\n", Some(1_000_000)),
            ("coredns_panics_total 0\n", None),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }
}
