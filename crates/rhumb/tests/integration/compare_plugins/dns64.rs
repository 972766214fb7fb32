//! `dns64`: AAAA synthesized from A.

use super::families::{BOTH, Set, changed_question, check};

#[test]
fn dns64_for_ipv6_clients() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1 ::1\n errors\n log\n dns64\n hosts hosts {\n fallthrough\n }\n forward . {upstream}\n}\n",
        ..BOTH
    });
}

#[test]
fn dns64_for_all_clients_with_another_prefix() {
    check(&Set {
        corefile: "example.org:{port} {\n bind 127.0.0.1 ::1\n log\n dns64 {\n prefix 2001:db8:64:1::/48\n allow_ipv4\n }\n forward . {upstream}\n}\n\
                   .:{port} {\n bind 127.0.0.1 ::1\n log\n dns64 {\n allow_ipv4\n prefix ::ffff:0:0/96\n }\n hosts hosts {\n fallthrough\n }\n whoami\n}\n",
        ..BOTH
    });
}

#[test]
fn dns64_translates_all() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1 ::1\n log\n dns64 {\n prefix 2001:db8::/32\n translate_all\n allow_ipv4\n }\n hosts hosts {\n fallthrough\n ttl 90\n }\n forward . {upstream} {\n force_tcp\n }\n}\n",
        ..BOTH
    });
}

/// Options after a prefix are ignored, except `prefix`, which counts as another directive.
#[test]
fn dns64_prefix_and_options() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1 ::1\n log\n dns64 64:1::/40 {\n allow_ipv4\n translate_all\n }\n hosts hosts {\n fallthrough\n }\n forward . {upstream}\n}\n\
                   hosts.example:{port} {\n bind 127.0.0.1 ::1\n log\n dns64 64:1::/56 {\n prefix 64:2::/64\n }\n hosts hosts\n}\n",
        ..BOTH
    });
}

#[test]
fn dns64_with_other_plugins() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1 ::1\n errors\n nsid the one\n bufsize 700\n local\n dns64 {\n allow_ipv4\n }\n any\n loadbalance\n \
                   rewrite name exact both.example.org four.example.org\n rewrite name suffix .hosts.example .hosts.example answer auto\n \
                   acl mixed.hosts.example {\n block\n }\n acl odd.hosts.example {\n drop type A\n }\n acl nat.hosts.example {\n filter\n }\n \
                   cache 30\n header {\n response set ra\n }\n minimal\n hosts hosts {\n fallthrough\n }\n forward . {upstream}\n}\n",
        cached: true,
        logged: false,
        intended: |difference| {
            let chance =
                || difference.is_of_truncation().then_some("which records fit is chance after a shuffle");
            changed_question(difference).or_else(chance)
        },
        ..BOTH
    });
}
