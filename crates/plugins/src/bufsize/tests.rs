use crate::testing::harness::{answer, configure, refused, service};

#[test]
fn advertised_size_is_capped() {
    for (directive, question, opt) in [
        ("bufsize", "example.org ANY size=4096", "opt: 1232"),
        ("bufsize", "example.org ANY size=1232", "opt: 1232"),
        ("bufsize", "example.org ANY size=1000", "opt: 1000"),
        ("bufsize 4096", "example.org ANY size=65535", "opt: 4096"),
        ("bufsize 512", "example.org ANY size=513 do", "opt: 512 do"),
        // A size below 512 passes unchanged.
        ("bufsize 512", "example.org ANY size=100", "opt: 100"),
        ("bufsize 512", "example.org ANY", ""),
    ] {
        let text = answer(&service(&format!(". {{\n{directive}\nany\n}}")), question);
        let got = text.lines().find(|line| line.starts_with("opt:")).unwrap_or_default();
        assert_eq!(got, opt, "{directive}: {question}");
    }
}

#[test]
fn options() {
    for directive in
        ["bufsize", "bufsize 512", "bufsize 4096", "bufsize +1232", "bufsize 01232", "bufsize 1232 {\nx\n}"]
    {
        assert!(configure(&format!(". {{\n{directive}\n}}")).is_ok(), "{directive}");
    }
    // Only the first line counts.
    assert!(configure(". {\nbufsize 1024\nbufsize nonsense\n}").is_ok());
    let wrong = "plugin/bufsize: Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after";
    for (directive, after) in [
        ("bufsize 511", "511"),
        ("bufsize 4097", "4097"),
        ("bufsize -1", "-1"),
        ("bufsize 1_000", "1_000"),
        ("bufsize 99999999999999999999", "99999999999999999999"),
        ("bufsize big", "big"),
        ("bufsize 1024 1025", "1025"),
    ] {
        assert_eq!(refused(&format!(". {{\n{directive}\n}}")), format!("{wrong} '{after}'"));
    }
}
