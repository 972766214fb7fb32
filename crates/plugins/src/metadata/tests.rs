use crate::testing::harness::{ask, check, configure, refused, service};

fn corefile(body: &str) -> String {
    format!(". {{\n{body}\nwhoami\n}}\n")
}

#[test]
fn forms() {
    for body in ["metadata", "metadata example.org 10.0.0.0/8", "metadata {\n}", "metadata a b {\n}"] {
        assert!(configure(&corefile(body)).is_ok(), "{body}");
    }
    for (body, error) in [
        ("metadata {\nfoo\n}", "Wrong argument count or unexpected line ending after 'foo'"),
        ("metadata\nmetadata", "Wrong argument count or unexpected line ending after 'metadata'"),
    ] {
        let line = format!("plugin/metadata: Corefile:3 - Error during parsing: {error}");
        assert_eq!(refused(&corefile(body)), line, "{body}");
    }
}

#[test]
fn is_part_of_the_chain() {
    check(". {\nmetadata\n}\n", "example.org A", "SERVFAIL qr");
    let answered = ask(&service(". {\nmetadata\n}\n"), "example.org A");
    assert_eq!(answered.error.as_deref(), Some("plugin/metadata: no next plugin found"));
}
