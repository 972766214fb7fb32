//! In which form a scraper gets the metrics. Text, unless its `Accept` header names protobuf first; OpenMetrics is
//! not offered, as in CoreDNS.

use server::http::HttpBody;

/// The forms, in the order of our own preference.
const FORMS: [Form; 2] = [Form::Protobuf, Form::Text];

/// What scrapers may want done to names that old Prometheus cannot read. All of ours can be read, so that it makes no
/// difference but in the answer's content type.
const ESCAPINGS: &[&str] = &["underscores", "allow-utf-8", "dots", "values"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Protobuf,
}

impl Form {
    fn content_type(self) -> &'static str {
        match self {
            Form::Text => "text/plain; version=0.0.4; charset=utf-8",
            Form::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// What a clause must say to mean this form.
    fn wanted(self) -> (&'static str, &'static str, &'static [(&'static str, &'static str)]) {
        match self {
            Form::Text => ("text", "plain", &[("version", "0.0.4")]),
            Form::Protobuf => (
                "application",
                "vnd.google.protobuf",
                &[("proto", "io.prometheus.client.MetricFamily"), ("encoding", "delimited")],
            ),
        }
    }
}

/// The whole registry, whichever address is asked.
pub(super) fn body(accept: &str) -> HttpBody {
    let (form, content_type) = choose(accept);
    let bytes = match form {
        Form::Text => metrics::registry().encode().into_bytes(),
        Form::Protobuf => metrics::registry().encode_protobuf(),
    };
    HttpBody { content_type, bytes }
}

/// The form, and what it is called in the answer.
fn choose(accept: &str) -> (Form, String) {
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(Clause::parse).collect();
    // Among equals the clauses keep their order, but those that leave something open come last.
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality).then(a.is_open().cmp(&b.is_open())));

    let mut escaping = ESCAPINGS[0];
    let mut chosen = Form::Text;
    for clause in &clauses {
        // A wish that stands before the chosen form counts for it too.
        if let Some(known) = ESCAPINGS.iter().find(|known| clause.param("escaping") == Some(known)) {
            escaping = known;
        }
        if let Some(form) = FORMS.into_iter().find(|form| clause.means(*form)) {
            chosen = form;
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

    /// Of several the last.
    fn param(&self, name: &str) -> Option<&'a str> {
        self.params.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn is_open(&self) -> bool {
        self.main == "*" || self.sub == "*"
    }

    fn means(&self, form: Form) -> bool {
        let (main, sub, params) = form.wanted();
        // Whoever wants plain text and does not say which means this one.
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

    /// CoreDNS 1.15.0 answers these headers the same way, unless something else is said.
    #[test]
    fn forms() {
        use Form::{Protobuf, Text};
        let with = |rest: &str| format!("{DELIMITED}{rest}");
        let table: &[(String, Form, &str)] = &[
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
            // What Prometheus 3 sends when it is to scrape native histograms.
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
        for (accept, form, escaping) in table {
            let expected = (*form, format!("{}; escaping={escaping}", form.content_type()));
            assert_eq!(choose(accept), expected, "{accept}");
        }
    }
}
