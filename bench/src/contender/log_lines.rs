//! Whether a query log is whole. CoreDNS waits until a line is written; Rhumb leaves lines out rather than wait, and says
//! how many in its metrics.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use testkit::error::{Context, Error, Result};

const PATIENCE: Duration = Duration::from_secs(5);

/// How many lines were left out since the server's start.
pub fn left_out(metrics: SocketAddr) -> Result<u64> {
    let mut stream = TcpStream::connect_timeout(&metrics, PATIENCE).context("metrics")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text).context("metrics")?;
    value(&text).ok_or_else(|| Error::new("the metrics do not tell of log lines"))
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
