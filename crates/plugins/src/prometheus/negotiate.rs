//! Content negotiation: text, unless the scraper's `Accept` header prefers protobuf; no OpenMetrics, as in CoreDNS.

use server::http::HttpBody;

/// The exposition formats, in the server's order of preference.
const FORMATS: [Format; 2] = [Format::Protobuf, Format::Text];

/// Escaping schemes for metric names that old Prometheus cannot read. No name here needs escaping, so that the scheme
/// shows only in the response's content type.
const ESCAPINGS: &[&str] = &["underscores", "allow-utf-8", "dots", "values"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Protobuf,
}

impl Format {
    fn content_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// Type, subtype and parameters that select this format.
    fn media_type(self) -> (&'static str, &'static str, &'static [(&'static str, &'static str)]) {
        match self {
            Format::Text => ("text", "plain", &[("version", "0.0.4")]),
            Format::Protobuf => (
                "application",
                "vnd.google.protobuf",
                &[("proto", "io.prometheus.client.MetricFamily"), ("encoding", "delimited")],
            ),
        }
    }
}

/// The whole registry, the same on every address.
pub(super) fn body(accept: &str) -> HttpBody {
    let (format, content_type) = choose(accept);
    let bytes = match format {
        Format::Text => metrics::registry().encode().into_bytes(),
        Format::Protobuf => metrics::registry().encode_protobuf(),
    };
    HttpBody { content_type, bytes }
}

/// The format and its content type.
fn choose(accept: &str) -> (Format, String) {
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(Clause::parse).collect();
    // Clauses of equal quality keep their order, but those with a wildcard come last.
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality).then(a.is_wildcard().cmp(&b.is_wildcard())));

    let mut escaping = ESCAPINGS[0];
    let mut chosen = Format::Text;
    for clause in &clauses {
        // An escaping of a clause before the chosen one applies too.
        if let Some(known) = ESCAPINGS.iter().find(|known| clause.param("escaping") == Some(known)) {
            escaping = known;
        }
        if let Some(format) = FORMATS.into_iter().find(|format| clause.accepts(*format)) {
            chosen = format;
            break;
        }
    }
    (chosen, format!("{}; escaping={escaping}", chosen.content_type()))
}

/// `type/subtype; name=value; q=0.5`
struct Clause<'a> {
    main: &'a str,
    sub: &'a str,
    params: Vec<(&'a str, &'a str)>,
    quality: f64,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Clause<'a>> {
        let mut parts = text.split(';');
        let (main, sub) = match parts.next()?.trim() {
            "*" => ("*", "*"),
            range => range.split_once('/')?,
        };
        let params =
            parts.filter_map(|part| part.split_once('=')).map(|(name, value)| (name.trim(), value.trim()));
        let mut clause = Clause { main: main.trim(), sub: sub.trim(), params: Vec::new(), quality: 1.0 };
        for (name, value) in params {
            match name {
                "q" => clause.quality = value.parse().unwrap_or(0.0),
                _ => clause.params.push((name, value)),
            }
        }
        Some(clause)
    }

    /// Of several parameters with this name the last counts.
    fn param(&self, name: &str) -> Option<&'a str> {
        self.params.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn is_wildcard(&self) -> bool {
        self.main == "*" || self.sub == "*"
    }

    fn accepts(&self, format: Format) -> bool {
        let (main, sub, params) = format.media_type();
        // text/plain without a version means 0.0.4.
        let implied =
            |name: &str| if name == "version" && self.sub == "plain" { Some("0.0.4") } else { None };
        (self.main == "*" || self.main == main)
            && (self.sub == "*" || self.sub == sub)
            && params.iter().all(|(name, value)| self.param(name).or(implied(name)) == Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELIMITED: &str =
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";

    /// CoreDNS 1.15.0 answers these headers the same way, except where a comment notes a difference.
    #[test]
    fn accept_headers() {
        use Format::{Protobuf, Text};
        let with = |rest: &str| format!("{DELIMITED}{rest}");
        let table: &[(String, Format, &str)] = &[
            (String::new(), Text, "underscores"),
            ("*/*".into(), Text, "underscores"),
            ("*".into(), Text, "underscores"),
            ("nonsense".into(), Text, "underscores"),
            (",;=,/,;q".into(), Text, "underscores"),
            ("text/plain;escaping=dots".into(), Text, "dots"),
            ("text/plain;escaping=nonsense".into(), Text, "underscores"),
            ("text/html".into(), Text, "underscores"),
            ("application/openmetrics-text;version=1.0.0".into(), Text, "underscores"),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8,text/plain;q=0.5".into(),
                Text,
                "allow-utf-8",
            ),
            (with(""), Protobuf, "underscores"),
            (with(";escaping=allow-utf-8"), Protobuf, "allow-utf-8"),
            (with(";q=0"), Protobuf, "underscores"),
            (DELIMITED.replace(';', " ; "), Protobuf, "underscores"),
            (DELIMITED.replace("vnd.google.protobuf", "*"), Protobuf, "underscores"),
            (DELIMITED.replace("application/vnd.google.protobuf", "*/*"), Protobuf, "underscores"),
            (DELIMITED.to_uppercase(), Text, "underscores"),
            ("application/vnd.google.protobuf".into(), Text, "underscores"),
            (with(";q=0.4,text/plain;q=0.5"), Text, "underscores"),
            (with(";q=0.4,text/plain;version=0.0.5"), Protobuf, "underscores"),
            (with(";q=0.4,*/*;q=0.9"), Protobuf, "underscores"),
            // Prometheus 3 sends this to scrape native histograms.
            (
                with(
                    ";q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                     application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,\
                     text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
                ),
                Protobuf,
                "underscores",
            ),
            // CoreDNS has protobuf as text as well.
            (DELIMITED.replace("delimited", "text"), Text, "underscores"),
        ];
        for (accept, format, escaping) in table {
            let expected = (*format, format!("{}; escaping={escaping}", format.content_type()));
            assert_eq!(choose(accept), expected, "{accept}");
        }
    }
}
