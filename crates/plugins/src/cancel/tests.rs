use crate::harness::{ask, check, configure, refused, service};

fn corefile(body: &str) -> String {
    format!(". {{\n{body}\nwhoami\n}}\n")
}

#[test]
fn forms() {
    // What follows the arguments is read in pairs of its own, so a block passes unless it has two arguments.
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
fn says_the_limit() {
    for (body, text) in [("cancel", "no waiting beyond 5.001s"), ("cancel 2s", "no waiting beyond 2s")] {
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
