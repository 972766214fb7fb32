//! Compares the query logs of two servers.
//!
//! A line of the `log` plugin in its common format is
//! `[INFO] 127.0.0.1:50759 - 29008 "A IN example.org. udp 41 false 4096" NOERROR qr,rd,ra,ad 68 0.037990251s`.

use std::collections::BTreeMap;
use std::fmt;

use crate::compare::Line;
use crate::error::{Error, Result};

/// One logged query, without the fields that differ in every run: the client's port and the duration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogLine {
    /// `[INFO]` or another level.
    pub level: String,
    pub client: String,
    pub id: u16,
    pub qtype: String,
    pub class: String,
    /// In presentation form, as the server wrote it.
    pub name: String,
    pub proto: String,
    pub size: usize,
    pub dnssec_ok: bool,
    pub buffer_size: usize,
    pub rcode: String,
    /// `-` when nothing was written to the client.
    pub flags: String,
    pub reply_size: usize,
}

impl LogLine {
    /// Reads a line in the common format; the error names the missing part.
    pub fn parse(line: &str) -> Result<Self> {
        let bad = |what: &str| Error::new(format!("not a query log line ({what}): {line}"));
        let line = line.trim_end();
        let (level, rest) = line.split_once(' ').ok_or_else(|| bad("level"))?;
        if !(level.starts_with('[') && level.ends_with(']')) {
            return Err(bad("level"));
        }
        let (remote, rest) = rest.split_once(" - ").ok_or_else(|| bad("client"))?;
        let (client, port) = remote.rsplit_once(':').ok_or_else(|| bad("client"))?;
        port.parse::<u16>().map_err(|_| bad("client's port"))?;
        let (id, rest) = rest.split_once(" \"").ok_or_else(|| bad("id"))?;
        // A name may hold escaped blanks and quotes, so the question is split from both ends.
        let (question, reply) = rest.rsplit_once("\" ").ok_or_else(|| bad("question"))?;
        let mut front = question.splitn(3, ' ');
        let (Some(qtype), Some(class), Some(rest)) = (front.next(), front.next(), front.next()) else {
            return Err(bad("question"));
        };
        let mut back = rest.rsplitn(5, ' ');
        let (Some(buffer_size), Some(dnssec_ok), Some(size), Some(proto), Some(name)) =
            (back.next(), back.next(), back.next(), back.next(), back.next())
        else {
            return Err(bad("question"));
        };
        let reply: Vec<&str> = reply.split(' ').collect();
        let [rcode, flags, reply_size, duration] = reply[..] else { return Err(bad("reply")) };
        duration
            .strip_suffix('s')
            .and_then(|seconds| seconds.parse::<f64>().ok())
            .ok_or_else(|| bad("duration in seconds"))?;
        Ok(Self {
            level: level.into(),
            client: client.into(),
            id: id.parse().map_err(|_| bad("id"))?,
            qtype: qtype.into(),
            class: class.into(),
            name: name.into(),
            proto: proto.into(),
            size: size.parse().map_err(|_| bad("size"))?,
            dnssec_ok: dnssec_ok.parse().map_err(|_| bad("DO bit"))?,
            buffer_size: buffer_size.parse().map_err(|_| bad("buffer size"))?,
            rcode: rcode.into(),
            flags: flags.into(),
            reply_size: reply_size.parse().map_err(|_| bad("reply size"))?,
        })
    }
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, client, id, qtype, class, name, proto, size, dnssec_ok, buffer_size, .. } = self;
        let Self { rcode, flags, reply_size, .. } = self;
        write!(
            f,
            "{level} {client} - {id} \"{qtype} {class} {name} {proto} {size} {dnssec_ok} {buffer_size}\""
        )?;
        write!(f, " {rcode} {flags} {reply_size}")
    }
}

/// The query log lines of a server's output; other lines (start, errors) are skipped.
pub fn query_lines<'a>(output: impl IntoIterator<Item = &'a str>) -> Vec<LogLine> {
    output.into_iter().filter_map(|line| LogLine::parse(line).ok()).collect()
}

/// The lines that only one log has, in any order. Two equal lines are two lines.
pub fn compare(left: &[LogLine], right: &[LogLine]) -> Vec<Line> {
    let mut surplus: BTreeMap<&LogLine, isize> = BTreeMap::new();
    left.iter().for_each(|line| *surplus.entry(line).or_default() += 1);
    right.iter().for_each(|line| *surplus.entry(line).or_default() -= 1);
    // By id, so that the two versions of one line are adjacent.
    let mut differing: Vec<_> = surplus.into_iter().filter(|(_, n)| *n != 0).collect();
    differing.sort_by_key(|(line, n)| (line.id, -n));
    differing
        .into_iter()
        .flat_map(|(line, n)| {
            let text = line.to_string();
            let shown = if n > 0 { Line::Left(text) } else { Line::Right(text) };
            std::iter::repeat_n(shown, n.unsigned_abs())
        })
        .collect()
}

/// The same for sequential queries: the order of lines must match too.
pub fn compare_in_order(left: &[LogLine], right: &[LogLine]) -> Vec<Line> {
    let mut lines = Vec::new();
    for i in 0..left.len().max(right.len()) {
        let (l, r) = (left.get(i), right.get(i));
        if l != r {
            lines.extend(l.map(|l| Line::Left(l.to_string())));
            lines.extend(r.map(|r| Line::Right(r.to_string())));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"[INFO] 127.0.0.1:50759 - 29008 "A IN example.org. udp 41 false 4096" NOERROR qr,rd,ra,ad 68 0.037990251s"#;

    #[test]
    fn common_format() {
        let line = LogLine::parse(LINE).unwrap();
        assert_eq!((line.client.as_str(), line.id, line.size, line.reply_size), ("127.0.0.1", 29008, 41, 68));
        assert_eq!(
            (line.qtype.as_str(), line.class.as_str(), line.name.as_str()),
            ("A", "IN", "example.org.")
        );
        assert_eq!((line.proto.as_str(), line.dnssec_ok, line.buffer_size), ("udp", false, 4096));
        assert_eq!((line.rcode.as_str(), line.flags.as_str()), ("NOERROR", "qr,rd,ra,ad"));
    }

    #[test]
    fn unusual_lines() {
        for (line, name) in [
            (
                r#"[INFO] [::1]:53 - 1 "TYPE7 CH a\ b\"c.x. tcp 9 true 512" NXDOMAIN qr 12 1s"#,
                r#"a\ b\"c.x."#,
            ),
            (r#"[INFO] 10.0.0.1:53 - 0 "A IN . udp 17 false 512" SERVFAIL - 0 0.000114461s"#, "."),
            (r#"[INFO] 127.0.0.1:5 - 2 "  . udp 12 false 512" REFUSED qr 12 2e-05s"#, "."),
        ] {
            assert_eq!(LogLine::parse(line).unwrap().name, name, "{line}");
        }
    }

    #[test]
    fn other_lines() {
        for line in [
            "",
            "CoreDNS-1.15.0",
            ".:53 on 127.0.0.1",
            r#"[ERROR] plugin/errors: 2 example.org. A: read udp 127.0.0.1:1->127.0.0.1:2: i/o timeout"#,
            &LINE.replace("0.037990251s", "38ms"),
            &LINE.replace("false", "no"),
            &LINE.replace(" 68", ""),
            &LINE.replace(":50759", ""),
        ] {
            assert!(LogLine::parse(line).is_err(), "{line}");
        }
        assert_eq!(query_lines(["CoreDNS-1.15.0", LINE]).len(), 1);
    }

    #[test]
    fn comparison() {
        let line = |id: u16, port: u16, took: &str, rcode: &str| {
            let text = LINE
                .replace("29008", &id.to_string())
                .replace("50759", &port.to_string())
                .replace("0.037990251s", took)
                .replace("NOERROR", rcode);
            LogLine::parse(&text).unwrap()
        };
        let left = [line(1, 10, "1s", "NOERROR"), line(2, 20, "1s", "NOERROR")];
        let swapped = [line(2, 30, "2s", "NOERROR"), line(1, 40, "3s", "NOERROR")];
        assert_eq!(compare(&left, &swapped), []);
        assert_eq!(compare_in_order(&left, &swapped).len(), 4);

        let other = [line(1, 10, "1s", "NOERROR"), line(2, 20, "1s", "SERVFAIL")];
        let lines = compare(&left, &other);
        assert!(matches!(&lines[..], [Line::Left(l), Line::Right(r)]
            if l.contains("NOERROR") && r.contains("SERVFAIL")));
        let twice = [left[0].clone(), left[0].clone(), left[1].clone()];
        assert!(matches!(&compare(&left, &twice)[..], [Line::Right(_)]));
        assert!(matches!(&compare(&left, &left[..1])[..], [Line::Left(_)]));
    }
}
