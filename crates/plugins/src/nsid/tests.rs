use crate::host_files::hostname::hostname;
use crate::testing::harness::{answer, configure, refused, service};

#[test]
fn only_clients_that_request_it_get_the_name() {
    let host = format!("opt: 4096 do 3:{}", hostname());
    for (directive, question, opt) in [
        ("nsid Use The Force", "example.org ANY nsid", "opt: 4096 do 3:Use The Force"),
        ("nsid \"a  b\" c", "example.org ANY nsid do", "opt: 4096 do 3:a  b c"),
        ("nsid", "example.org ANY nsid", host.as_str()),
        ("nsid x", "example.org ANY size=1232", "opt: 1232"),
        ("nsid x", "example.org ANY", ""),
        // bufsize is below nsid and sees the reply first.
        ("bufsize\nnsid x", "example.org ANY nsid", "opt: 1232 do 3:x"),
        // No plugin answers: the server's own reply has no name.
        ("nsid x", "example.org A nsid", "opt: 4096"),
    ] {
        let text = answer(&service(&format!(". {{\n{directive}\nany\n}}")), question);
        let got = text.lines().find(|line| line.starts_with("opt:")).unwrap_or_default();
        assert_eq!(got, opt, "{directive}: {question}");
    }
}

#[test]
fn options() {
    assert!(configure(". {\nnsid\n}").is_ok());
    for twice in ["nsid\nnsid", "nsid a\nnsid b", "nsid a {\n}"] {
        assert_eq!(
            refused(&format!(". {{\n{twice}\n}}")),
            "plugin/nsid: this plugin can only be used once per Server Block"
        );
    }
}
