use crate::testing::harness::{check, configure, refused};

const BLOCK: &str = ". {\nany\nchaos v a\n}";

#[test]
fn answers() {
    for (question, expected) in [
        (
            "example.org ANY",
            "NOERROR qr\nanswer: example.org. 8482 IN HINFO \"ANY obsoleted\" \"See RFC 8482\"",
        ),
        (
            "eXample.ORG ANY rd cd",
            "NOERROR qr,rd,cd\nanswer: eXample.ORG. 8482 IN HINFO \"ANY obsoleted\" \"See RFC 8482\"",
        ),
        (". ANY class=CH", "NOERROR qr\nanswer: . 8482 IN HINFO \"ANY obsoleted\" \"See RFC 8482\""),
        ("example.org HINFO", "SERVFAIL qr"),
    ] {
        check(BLOCK, question, expected);
    }
}

#[test]
fn options() {
    assert!(configure(". {\nany\nany\n}").is_ok());
    let at = "plugin/any: Corefile:2 - Error during parsing: ";
    assert_eq!(
        refused(". {\nany x\n}"),
        format!("{at}Wrong argument count or unexpected line ending after 'x'")
    );
    assert_eq!(refused(". {\nany {\n}\n}"), format!("{at}Unexpected token '{{', expecting argument"));
}
