use crate::testing::harness::{check, configure, refused};

fn corefile(body: &str) -> String {
    format!(". {{\n{body}\n}}\n")
}

#[test]
fn accepted_and_rejected_lines() {
    for body in ["debug", "debug\ndebug"] {
        assert!(configure(&corefile(body)).is_ok(), "{body}");
    }
    for (body, error) in [
        ("debug off", "Wrong argument count or unexpected line ending after 'off'"),
        ("debug {\n}", "Unexpected token '{', expecting argument"),
    ] {
        let line = format!("plugin/debug: Corefile:2 - Error during parsing: {error}");
        assert_eq!(refused(&corefile(body)), line, "{body}");
    }
}

/// It is not in the chain, so a block with nothing else refuses queries.
#[test]
fn adds_nothing_to_the_chain() {
    check(". {\ndebug\n}\n", "example.org A", "REFUSED qr");
}
