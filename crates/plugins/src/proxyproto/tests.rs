use super::hexadecimal;
use crate::testing::harness::{check, configure, refused};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\n}}\n", body.replace('|', "\n"))
}

#[test]
fn forms() {
    for body in [
        "proxyproto",
        "proxyproto {|}",
        "proxyproto {|allow|}",
        "proxyproto {|allow 10.0.0.0/8 ::1/128|allow 192.0.2.1/32|default REJECT|}",
        "proxyproto {|default use|default skip|}",
        "proxyproto {|udp_session_tracking 28s|}",
        "proxyproto {|udp_session_tracking -1s 20|}",
        "proxyproto {|tlv_metadata|}",
        "proxyproto|proxyproto {|default ignore|}",
    ] {
        assert_eq!(configure(&corefile(body)).err(), None, "{body}");
    }
}

#[test]
fn refused_forms() {
    let parsing = "Corefile:3 - Error during parsing: ";
    let count = format!("{parsing}Wrong argument count or unexpected line ending after");
    for (body, error) in [
        ("allow 10.0.0.1", "10.0.0.1: invalid CIDR address: 10.0.0.1".to_owned()),
        ("allow 10.0.0.0/8 x", "x: invalid CIDR address: x".into()),
        ("default", format!("{count} 'default'")),
        ("default x", format!("{count} 'x'")),
        ("default use use", format!("{count} 'use'")),
        ("udp_session_tracking", format!("{count} 'udp_session_tracking'")),
        ("udp_session_tracking 1s 2 3", format!("{count} '3'")),
        (
            "udp_session_tracking x",
            "udp_session_tracking: invalid duration \"x\": time: invalid duration \"x\"".into(),
        ),
        (
            "udp_session_tracking 1s 0",
            "udp_session_tracking: invalid max sessions \"0\": must be a positive integer".into(),
        ),
        (
            "udp_session_tracking 1s x",
            "udp_session_tracking: invalid max sessions \"x\": must be a positive integer".into(),
        ),
        ("tlv_metadata x", format!("{count} 'x'")),
    ] {
        let body = format!("proxyproto {{\n{body}\n}}");
        assert_eq!(refused(&corefile(&body)), format!("plugin/proxyproto: {error}"), "{body}");
    }
    // CoreDNS prints this error without the plugin's name.
    let unknown = format!("{parsing}unknown option 'x'");
    assert_eq!(refused(&corefile("proxyproto {|x|}")), unknown);
    let argument = "plugin/proxyproto: Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'x'";
    assert_eq!(refused(&corefile("proxyproto x")), argument);
}

#[test]
fn tlvs_as_text() {
    for (tlvs, expected) in
        [(&[][..], ""), (&[1, 0, 2, 7, 255], "01000207ff"), (&[4, 0, 2, 7, 7, 0xe0, 0, 0], "040000e00000")]
    {
        assert_eq!(hexadecimal(tlvs), expected, "{tlvs:?}");
    }
}

#[test]
fn has_no_effect_on_answers() {
    check(&corefile("proxyproto"), "example.org A", "REFUSED qr");
    check(
        &corefile("proxyproto {|tlv_metadata|}|erratic {|drop 0|}"),
        "example.org A",
        "NOERROR qr,aa\nanswer: example.org. 0 IN A 192.0.2.53",
    );
}
