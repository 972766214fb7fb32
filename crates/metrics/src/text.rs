//! The Prometheus text format, version 0.0.4, as Go's client writes it.

use std::fmt::Write;

use crate::gather::{Exposition, Row, Value};
use crate::histogram::Snapshot;

/// The type of a metric, as in its `# TYPE` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// A counter, gauge or histogram.
pub trait Metric: Send + Sync + 'static {
    const KIND: Kind;

    /// A new metric of a family; only histograms use the bounds.
    fn make(bounds: &'static [f64]) -> Self;

    fn bounds(&self) -> &'static [f64] {
        &[]
    }

    /// The current value.
    fn read(&self) -> Value;
}

/// Label names and values, sorted by name.
pub type Labels<'a> = [(&'a str, &'a str)];

pub(crate) fn encode(families: &Exposition) -> String {
    let mut out = String::new();
    for (name, family) in families {
        header(&mut out, name, &family.help, family.kind);
        for row in &family.rows {
            match &row.value {
                Value::Number(value) => sample(&mut out, name, "", row, None, *value),
                Value::Histogram(snapshot) => histogram(&mut out, name, row, snapshot),
            }
        }
    }
    out
}

fn histogram(out: &mut String, name: &str, row: &Row, snapshot: &Snapshot) {
    for (bound, n) in &snapshot.buckets {
        count(out, name, "_bucket", row, Some(*bound), *n);
    }
    count(out, name, "_bucket", row, Some(f64::INFINITY), snapshot.count);
    sample(out, name, "_sum", row, None, snapshot.sum);
    count(out, name, "_count", row, None, snapshot.count);
}

fn header(out: &mut String, name: &str, help: &str, kind: Kind) {
    out.push_str("# HELP ");
    out.push_str(name);
    out.push(' ');
    escape(out, help, false);
    out.push_str("\n# TYPE ");
    out.push_str(name);
    out.push(' ');
    out.push_str(kind.name());
    out.push('\n');
}

/// A line with a float value.
fn sample(out: &mut String, name: &str, suffix: &str, row: &Row, le: Option<f64>, v: f64) {
    key(out, name, suffix, row, le);
    push_float(out, v);
    out.push('\n');
}

/// A line with an integer value: in Go's client only buckets and counts of histograms.
fn count(out: &mut String, name: &str, suffix: &str, row: &Row, le: Option<f64>, n: u64) {
    key(out, name, suffix, row, le);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{n}");
}

/// `name_suffix{label="value",le="0.5"} `
fn key(out: &mut String, name: &str, suffix: &str, row: &Row, le: Option<f64>) {
    out.push_str(name);
    out.push_str(suffix);
    let mut separator = '{';
    for (label, value) in &row.labels {
        out.push(separator);
        separator = ',';
        out.push_str(label);
        out.push_str("=\"");
        escape(out, value, true);
        out.push('"');
    }
    if let Some(bound) = le {
        out.push(separator);
        separator = ',';
        out.push_str("le=\"");
        push_float(out, bound);
        out.push('"');
    }
    if separator == ',' {
        out.push('}');
    }
    out.push(' ');
}

fn escape(out: &mut String, text: &str, quotes: bool) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            c => out.push(c),
        }
    }
}

/// A float as Go's client writes it, as by `strconv.FormatFloat(v, 'g', -1, 64)`: the shortest digits that
/// parse to the same number, with an exponent below 1e-4 and from 1e6 on.
pub fn go_float(value: f64) -> String {
    let mut out = String::new();
    push_float(&mut out, value);
    out
}

fn push_float(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("NaN");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "+Inf" } else { "-Inf" });
    } else if value == 0.0 {
        // Also negative zero, which has a sign in Go's strconv but not in its client.
        out.push('0');
    } else {
        finite(out, value);
    }
}

fn finite(out: &mut String, value: f64) {
    // Rust's `{:e}` has the shortest digits too; only the exponent's format and when to use it differ.
    let start = out.len();
    let _ = write!(out, "{value:e}");
    let exponent = match out[start..].rsplit_once('e') {
        Some((_, exponent)) => exponent.parse::<i32>().unwrap_or(0),
        None => 0,
    };
    if (-4..6).contains(&exponent) {
        out.truncate(start);
        let _ = write!(out, "{value}");
    } else if let Some(at) = out.rfind('e') {
        out.truncate(at);
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_in_go() {
        // As printed by Go 1.26; only negative zero is as in its client, not as in strconv.
        let table: &[(f64, &str)] = &[
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.0, "-1"),
            (0.1, "0.1"),
            (0.1 + 0.2, "0.30000000000000004"),
            (0.00025, "0.00025"),
            (0.0001, "0.0001"),
            (0.00009, "9e-05"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (-2.5e-9, "-2.5e-09"),
            (8.192, "8.192"),
            (524.288, "524.288"),
            (16e3, "16000"),
            (100_000.0, "100000"),
            (999_999.0, "999999"),
            (999_999.5, "999999.5"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (123_456_789_012.0, "1.23456789012e+11"),
            ((1u64 << 53) as f64, "9.007199254740992e+15"),
            (1e21, "1e+21"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in table {
            assert_eq!(go_float(*value), *text);
        }
    }
}
