use net::Interface;

use super::setup::resolve;
use crate::testing::harness::{configure, refused};

fn interfaces() -> Vec<Interface> {
    let interface = |name: &str, index, addrs: &[&str]| Interface {
        name: name.to_owned(),
        index,
        addrs: addrs.iter().map(|addr| addr.parse().unwrap()).collect(),
    };
    vec![
        interface("lo", 1, &["127.0.0.1:0", "[::1]:0"]),
        interface("ifb0", 2, &[]),
        interface("eth0", 4, &["192.0.2.2:0", "[fd00::2]:0", "[fe80::1%4]:0"]),
    ]
}

#[test]
fn names_become_addresses() {
    for (args, expected) in [
        (&["10.0.0.1"][..], Ok(&["10.0.0.1"][..])),
        (&["::0001", "lo"], Ok(&["::0001", "127.0.0.1", "::1"])),
        (&["eth0"], Ok(&["192.0.2.2", "fd00::2", "fe80::1%4"])),
        (&["ifb0"], Ok(&[])),
        (&[], Ok(&[])),
        (&["lo", "eth1"], Err("not a valid IP address or interface name: \"eth1\"")),
        (&["127.1"], Err("not a valid IP address or interface name: \"127.1\"")),
        (&["fe80::1%eth0"], Err("not a valid IP address or interface name: \"fe80::1%eth0\"")),
        (&["10.0.0.1:53"], Err("not a valid IP address or interface name: \"10.0.0.1:53\"")),
    ] {
        let expected = expected
            .map(|hosts| hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())
            .map_err(str::to_owned);
        assert_eq!(resolve(args, &interfaces()), expected, "{args:?}");
    }
}

#[test]
fn addresses_listened_on() {
    for (body, expected) in [
        ("bind 127.0.0.1", &["127.0.0.1:53"][..]),
        ("bind 127.0.0.1\nbind ::1", &["127.0.0.1:53", "[::1]:53"]),
        ("bind 127.0.0.1 127.0.0.2 {\n except 127.0.0.1\n}", &["127.0.0.2:53"]),
        ("bind 127.0.0.1 {\n except 127.0.0.1\n}\nbind 127.0.0.2", &["127.0.0.2:53"]),
        ("bind 127.0.0.1 127.0.0.2 {\n except 127.0.0.1\n except 127.0.0.2\n}", &["127.0.0.1:53"]),
        ("bind ::1 {\n except 0::1\n}", &["[::1]:53"]),
        ("bind lo {\n except ::1\n}", &["127.0.0.1:53"]),
        ("bind 127.0.0.1 {\n except 127.0.0.1\n}", &[]),
    ] {
        let config = configure(&format!(". {{\n{body}\nwhoami\n}}")).unwrap();
        let addresses: Vec<String> = config.services().map(|(address, _)| address.to_string()).collect();
        assert_eq!(addresses, expected, "{body}");
    }
}

#[test]
fn refused_forms() {
    for (body, error) in [
        ("bind", "plugin/bind: at least one address or interface name is expected"),
        ("bind {\n}", "plugin/bind: at least one address or interface name is expected"),
        ("bind x.", "plugin/bind: not a valid IP address or interface name: \"x.\""),
        (
            "bind 127.0.0.1 {\n except\n}",
            "plugin/bind: at least one address or interface must be given to except subdirective",
        ),
        ("bind 127.0.0.1 x. {\n foo\n}", "plugin/bind: invalid option \"foo\""),
        ("bind 127.0.0.1 {\n except x.\n}", "plugin/bind: not a valid IP address or interface name: \"x.\""),
        ("bind 127.0.0.1 127.0.0.1\nwhoami", "cannot serve dns://.:53 on 127.0.0.1 - it is already defined"),
    ] {
        assert_eq!(refused(&format!(". {{\n{body}\n}}")), error, "{body}");
    }
}
