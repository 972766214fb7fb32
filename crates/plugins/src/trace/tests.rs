use server::Purpose;

use crate::testing::harness::{answer, ask, ask_for, configure, refused, service};

#[test]
fn forms() {
    for line in [
        "trace",
        "trace localhost:9411",
        "trace zipkin localhost:9411",
        "trace ZIPKIN http://a/b",
        "trace otlp collector:4318",
        "trace otlp http://collector",
        "trace {\n every 100\n service dns\n client_server\n}",
        "trace {\n client_server false\n datadog_analytics_rate 0.5\n}",
        "trace {\n zipkin_max_backlog_size 10\n zipkin_max_batch_size 10\n zipkin_max_batch_interval 2s\n}",
    ] {
        let corefile = format!(". {{\n{line}\n}}");
        assert!(configure(&corefile).is_ok(), "{line}: {:?}", configure(&corefile).err());
    }
}

#[test]
fn refused_forms() {
    for (line, error) in [
        ("trace a b c", "Wrong argument count or unexpected line ending after 'c'"),
        ("trace x localhost:1", "tracing endpoint type 'x' is not supported"),
        ("trace datadog localhost:8126", "'datadog' is not part of Rhumb"),
        ("trace {\n every\n}", "Wrong argument count or unexpected line ending after 'every'"),
        ("trace {\n every -1\n}", r#"strconv.ParseUint: parsing "-1": invalid syntax"#),
        ("trace {\n client_server 2\n}", r#"strconv.ParseBool: parsing "2": invalid syntax"#),
        (
            "trace {\n datadog_analytics_rate 2\n}",
            "datadog analytics rate must be between 0 and 1, '2.000000' is not supported",
        ),
        ("trace {\n zipkin_max_batch_size x\n}", r#"strconv.Atoi: parsing "x": invalid syntax"#),
        ("trace {\n zipkin_max_batch_interval -1s\n}", "must be at least 10ns"),
        ("trace {\n nosuch\n}", "unknown property 'nosuch'"),
    ] {
        let got = refused(&format!(". {{\n{line}\n}}"));
        assert!(got.contains(error), "{line}: {got}");
    }
}

/// `explain` shows the id.
#[test]
fn every_second_query_is_traced() {
    let service = service(".:0 {\n trace otlp 127.0.0.1:1 {\n every 2\n }\n whoami\n}");
    let traced: Vec<bool> = (0..4)
        .map(|_| {
            let asked = ask(&service, "example.org. A");
            asked.notes.iter().any(|note| note.plugin == "trace" && note.text.starts_with("trace id "))
        })
        .collect();
    assert_eq!(traced, [false, true, false, true]);
}

/// And does not count for the sample.
#[test]
fn an_explained_query_is_not_traced() {
    let service = service(".:0 {\n trace otlp 127.0.0.1:1 {\n every 2\n }\n whoami\n}");
    let purposes = [Purpose::Serve, Purpose::Explain, Purpose::Explain, Purpose::Serve];
    let traced = purposes.map(|purpose| {
        let asked = ask_for(&service, "example.org. A", purpose);
        asked.notes.iter().any(|note| note.plugin == "trace")
    });
    assert_eq!(traced, [false, false, false, true]);
}

#[test]
fn answers_are_unchanged() {
    let plain = answer(&service(".:0 {\n whoami\n}"), "example.org. A");
    assert_eq!(answer(&service(".:0 {\n trace\n whoami\n}"), "example.org. A"), plain);
}
