use crate::testing::harness::{ask, check, configure, refused, service};

fn corefile(body: &str) -> String {
    format!(". {{\n{body}\nwhoami\n}}\n")
}

#[test]
fn accepted_and_rejected_lines() {
    // The lines of a block are read like further `cancel` lines, so a block passes unless one has two arguments.
    for body in
        ["cancel", "cancel 5s", "cancel 1ms", "cancel 1s\ncancel", "cancel {\n}", "cancel 1s {\n x\n}"]
    {
        assert!(configure(&corefile(body)).is_ok(), "{body}");
    }
    for (body, error) in [
        ("cancel 5", "invalid duration: \"5\""),
        ("cancel x", "invalid duration: \"x\""),
        ("cancel -1s", "invalid negative duration: \"-1s\""),
        ("cancel 0", "invalid negative duration: \"0\""),
        (
            "cancel 1s 2s",
            "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after '2s'",
        ),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/cancel: {error}"), "{body}");
    }
}

#[test]
fn explain_shows_the_timeout() {
    for (body, text) in [("cancel", "query timeout is 5.001s"), ("cancel 2s", "query timeout is 2s")] {
        let answered = ask(&service(&corefile(body)), "example.org A");
        assert!(answered.notes.iter().any(|note| note.plugin == "cancel" && note.text == text), "{body}");
    }
}

#[test]
fn is_part_of_the_chain() {
    check(". {\ncancel\n}\n", "example.org A", "SERVFAIL qr");
    let answered = ask(&service(". {\ncancel\n}\n"), "example.org A");
    assert_eq!(answered.error.as_deref(), Some("plugin/cancel: no next plugin found"));
}
