use observe::dnstap::Endpoint;

use super::extra::Extra;
use super::setup::endpoint;
use crate::log::Piece;
use crate::testing::harness::{answer, ask, configure, refused, service};

#[test]
fn forms() {
    for line in [
        "dnstap /tmp/x.sock",
        "dnstap unix:///tmp/x.sock full",
        "dnstap tcp://127.0.0.1:6000 full 1024 4096",
        "dnstap tls://example.org:6000 full {\n skipverify\n}",
        "dnstap /tmp/x.sock {\n identity me\n version 1\n extra {name}\n}",
        "dnstap listen /tmp/x.sock",
        "dnstap listen tls://127.0.0.1:6000 full {\n tls cert key ca\n skipverify\n}",
        "dnstap /tmp/x.sock full\ndnstap tcp://127.0.0.1:1",
    ] {
        let corefile = format!(". {{\n{line}\n}}");
        assert!(configure(&corefile).is_ok(), "{line}: {:?}", configure(&corefile).err());
    }
}

#[test]
fn refused_forms() {
    for (line, error) in [
        ("dnstap", "Wrong argument count or unexpected line ending after 'dnstap'"),
        ("dnstap listen", "dnstap listen requires an endpoint argument"),
        (
            "dnstap /x full y",
            r#"dnstap: invalid MultipleTcpWriteBuf "y": strconv.Atoi: parsing "y": invalid syntax"#,
        ),
        ("dnstap /x full 1025", "dnstap: MultipleTcpWriteBuf must be between 1 and 1024 (MiB units): 1025"),
        ("dnstap /x full 1 0", "dnstap: MultipleQueue must be between 1 and 4096 (x10k messages): 0"),
        ("dnstap tcp://a:b", "Wrong argument count or unexpected line ending after 'tcp://a:b'"),
        ("dnstap /x {\n tls a b\n}", "tls directive only valid for listeners"),
        ("dnstap listen /x {\n tls a\n}", "tls requires cert and key file paths"),
        ("dnstap /x {\n identity\n}", "Wrong argument count or unexpected line ending after 'identity'"),
        ("dnstap /x {\n nosuch\n}", "unknown property 'nosuch'"),
    ] {
        let got = refused(&format!(". {{\n{line}\n}}"));
        assert!(got.contains(error), "{line}: {got}");
    }
}

#[test]
fn sockets() {
    let tcp = |text: &str| Some(Endpoint::Tcp(text.to_owned()));
    for (text, expected) in [
        ("/a/b", Some(Endpoint::Unix("/a/b".into()))),
        ("unix://a", Some(Endpoint::Unix("a".into()))),
        ("tls://a:1", Some(Endpoint::Tls("a:1".into()))),
        ("tcp://a:1/path?x#y", tcp("a:1")),
        ("tcp://me@a:1", tcp("a:1")),
        ("tcp://[::1]:6000", tcp("[::1]:6000")),
        ("tcp://a", tcp("a")),
        ("tcp://", tcp("")),
        ("tcp://a:x", None),
        ("tcp://[::1", None),
        ("tcp://[::1]x", None),
        ("tcp://a b", None),
    ] {
        assert_eq!(endpoint(text), expected, "{text}");
    }
}

#[test]
fn placeholders_of_replies_are_dashes() {
    let Extra(format) = Extra::parse("{rcode} {rsize} {duration} {>rflags} {name}");
    let dashes = format.pieces.iter().filter(|piece| **piece == Piece::Literal("-".into())).count();
    assert_eq!(dashes, 4);
}

#[test]
fn answers_are_unchanged() {
    let plain = answer(&service(".:0 {\n whoami\n}"), "example.org. A");
    let tapped = service(".:0 {\n dnstap /nowhere full\n whoami\n}");
    assert_eq!(answer(&tapped, "example.org. A"), plain);
    let notes = ask(&tapped, "example.org. A").notes;
    assert!(notes.iter().any(|note| note.text == "dnstap messages go to /nowhere"));
}
