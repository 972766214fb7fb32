use crate::testing::harness::{check, configure, refused};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\n}}\n", body.replace('|', "\n"))
}

#[test]
fn forms() {
    for (body, sockets) in [
        ("multisocket", Some(net::cpu::available())),
        ("multisocket 1", Some(1)),
        ("multisocket +2", Some(2)),
        ("multisocket 1024", Some(1024)),
        ("whoami", None),
    ] {
        let config = configure(&corefile(body)).unwrap_or_else(|error| panic!("{body}: {error}"));
        let counts: Vec<_> = config.services().map(|(_, service)| service.sockets).collect();
        assert_eq!(counts, [sockets], "{body}");
    }
}

#[test]
fn refused_forms() {
    let parsing = "Corefile:2 - Error during parsing: ";
    let count = "Wrong argument count or unexpected line ending after";
    for (body, error) in [
        ("multisocket x", "invalid num sockets: strconv.Atoi: parsing \"x\": invalid syntax".to_owned()),
        (
            "multisocket 99999999999999999999",
            "invalid num sockets: strconv.Atoi: parsing \"99999999999999999999\": value out of range".into(),
        ),
        ("multisocket 0", "num sockets can not be zero or negative: 0".into()),
        ("multisocket -1", "num sockets can not be zero or negative: -1".into()),
        ("multisocket 1025", "num sockets exceeds maximum (1024): 1025".into()),
        ("multisocket 2 3", format!("{parsing}{count} '3'")),
        ("multisocket 2 {|x|}", format!("{parsing}Unexpected token '{{', expecting argument")),
        (
            "multisocket 2|multisocket 2",
            "Corefile:3 - Error during parsing: ".to_owned() + count + " 'multisocket'",
        ),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/multisocket: {error}"), "{body}");
    }
}

#[test]
fn the_first_block_on_an_address_decides() {
    for (corefile, expected) in [
        ("a {\nmultisocket 3\n}\nb {\nmultisocket 5\n}\n", vec![Some(3)]),
        ("a {\nwhoami\n}\nb {\nmultisocket 5\n}\n", vec![None]),
        ("a {\nmultisocket 3\n}\nb:54 {\nmultisocket 5\n}\n", vec![Some(3), Some(5)]),
    ] {
        let config = configure(corefile).unwrap_or_else(|error| panic!("{corefile}: {error}"));
        let counts: Vec<_> = config.services().map(|(_, service)| service.sockets).collect();
        assert_eq!(counts, expected, "{corefile}");
    }
}

#[test]
fn is_not_in_the_query_chain() {
    check(&corefile("multisocket 2"), "example.org A", "REFUSED qr");
}
