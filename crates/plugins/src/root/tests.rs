use crate::testing::harness::{configure, refused};

fn corefile(body: &str) -> String {
    format!(". {{\n{body}\nwhoami\n}}\n")
}

#[test]
fn forms() {
    for (body, warning) in [
        ("root /", None),
        ("root / x /", None),
        ("root /does/not/exist", Some("plugin/root: Root path does not exist: /does/not/exist")),
        ("root \"\"", Some("plugin/root: Root path does not exist: ")),
        // The last one counts.
        ("root /does/not/exist\nroot /", None),
    ] {
        let config = configure(&corefile(body)).unwrap_or_else(|error| panic!("{body}: {error}"));
        let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.first().map(String::as_str), warning, "{body}");
    }
}

#[test]
fn refused_forms() {
    let parsing = "Error during parsing:";
    for (body, error) in [
        (
            "root",
            format!("Corefile:2 - {parsing} Wrong argument count or unexpected line ending after 'root'"),
        ),
        (
            "root / /etc",
            format!("Corefile:2 - {parsing} Wrong argument count or unexpected line ending after '/etc'"),
        ),
        ("root / {\n}", format!("Corefile:2 - {parsing} Unexpected token '{{', expecting argument")),
        (
            "root /etc/passwd/x",
            format!(
                "Corefile:2 - {parsing} unable to access root path '/etc/passwd/x': \
                 stat /etc/passwd/x: not a directory"
            ),
        ),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/root: {error}"), "{body}");
    }
}
