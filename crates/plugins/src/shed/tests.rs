use metrics::registry;

use crate::testing::harness::{check, configure, refused};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\nwhoami\n}}\n", body.replace('|', "\n"))
}

#[test]
fn forms() {
    for body in ["shed", "shed {|}"] {
        assert_eq!(configure(&corefile(body)).err(), None, "{body}");
    }
    for (body, error) in [
        (
            "shed x",
            "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'x'",
        ),
        ("shed {|x|}", "Corefile:3 - Error during parsing: shed takes no options"),
        ("shed|shed", "this plugin can only be used once per Server Block"),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/shed: {error}"), "{body}");
    }
    for (keys, key, transport) in [
        ("tls://.", "tls://.:853", "tls"),
        ("a.org https://B.org", "https://b.org.:443", "https"),
        ("quic://10.0.0.0/8:99", "quic://10.in-addr.arpa.:99", "quic"),
    ] {
        let error = refused(&format!("{keys} {{\nshed\n}}\n"));
        let expected =
            format!("only plain DNS server blocks are supported; \"{key}\" uses transport \"{transport}\"");
        assert_eq!(error, format!("plugin/shed: Corefile:2 - Error during parsing: {expected}"));
    }
}

#[test]
fn queries_pass_while_there_is_room() {
    let answer = "NOERROR qr,aa\nadditional: example.org. 0 IN A 10.240.0.1";
    for words in ["", " tcp"] {
        let question = format!("example.org A{words}");
        let got =
            crate::testing::harness::answer(&crate::testing::harness::service(&corefile("shed")), &question);
        assert!(got.starts_with(answer), "{got}");
    }
    check(". {\nshed\n}\n", "example.org A", "SERVFAIL qr");
}

#[test]
fn both_series_exist_from_the_start() {
    configure("shed.test:5317 {\nshed\n}\n").unwrap();
    let text = registry().encode();
    for reason in ["query", "response"] {
        let series = format!("coredns_shed_dropped_total{{reason=\"{reason}\",server=\"dns://:5317\"}} 0");
        let swapped = format!("coredns_shed_dropped_total{{server=\"dns://:5317\",reason=\"{reason}\"}} 0");
        assert!(text.lines().any(|line| line == series || line == swapped), "{text}");
    }
}
