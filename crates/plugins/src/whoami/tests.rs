use crate::testing::harness::{check, configure, refused};

#[test]
fn answers() {
    for (question, expected) in [
        (
            "example.org A",
            "NOERROR qr,aa
             additional: example.org. 0 IN A 10.240.0.1
             additional: _udp.example.org. 0 IN SRV 0 0 40212 .",
        ),
        (
            "EXAMPLE.org TXT rd tcp",
            "NOERROR qr,aa,rd
             additional: EXAMPLE.org. 0 IN A 10.240.0.1
             additional: _tcp.EXAMPLE.org. 0 IN SRV 0 0 40212 .",
        ),
        (
            "example.org A from=2001:db8::7",
            "NOERROR qr,aa
             additional: example.org. 0 IN AAAA 2001:db8::7
             additional: _udp.example.org. 0 IN SRV 0 0 40212 .",
        ),
        (
            ". NS",
            "NOERROR qr,aa
             additional: . 0 IN A 10.240.0.1
             additional: _udp. 0 IN SRV 0 0 40212 .",
        ),
    ] {
        check(". {\n whoami\n}", question, expected);
    }
}

#[test]
fn other_classes_are_echoed() {
    check(
        ". {\n chaos\n whoami\n}",
        "example.org A class=CH",
        "NOERROR qr,aa
         additional: example.org. 0 CH A 10.240.0.1
         additional: _udp.example.org. 0 CH SRV 0 0 40212 .",
    );
}

#[test]
fn the_longest_names_get_no_srv_record() {
    let label = "a".repeat(63);
    let name = format!("{label}.{label}.{label}.{}.", "b".repeat(61));
    let expected = format!("NOERROR qr,aa\nadditional: {name} 0 IN A 10.240.0.1");
    check(". {\n whoami\n}", &format!("{name} A"), &expected);
}

#[test]
fn options() {
    assert!(configure(". {\n whoami\n whoami x\n}").is_ok());
    for (body, error) in [
        (
            "whoami x",
            "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'x'",
        ),
        ("whoami {\n}", "Corefile:2 - Error during parsing: Unexpected token '{', expecting argument"),
    ] {
        assert_eq!(refused(&format!(". {{\n{body}\n}}")), format!("plugin/whoami: {error}"));
    }
}
