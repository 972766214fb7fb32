//! `siit`: A synthesized from AAAA.

use testkit::client::Outcome;
use testkit::compare::{Difference, Line};
use testkit::message::Message;

use super::families::{BOTH, Set, changed_question, check};

/// CoreDNS truncates the AAAA records to the client's size before it turns them into A records, which are smaller.
fn truncated_too_early(difference: &Difference) -> Option<&'static str> {
    const TC: u16 = 0x0200;
    let bits = |outcome: &Outcome| outcome.reply().map_or(0, |reply| Message::decode(reply).bits);
    let [left, right] = [0, 1].map(|at| bits(&difference.outcomes[at]));
    let more_records = difference.lines.iter().all(|line| match line {
        Line::Left(text) => text.starts_with("flags "),
        Line::Right(text) => !text.starts_with("rcode "),
    });
    let cut = left & TC != 0 && (left ^ right) & !TC == 0;
    (cut && more_records).then_some("siit: what fits the client is decided last")
}

#[test]
fn siit_with_the_usual_prefix() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1 ::1\n errors\n log\n siit\n hosts hosts {\n fallthrough\n }\n forward . {upstream}\n}\n",
        intended: truncated_too_early,
        ..BOTH
    });
}

#[test]
fn siit_with_mappings() {
    check(&Set {
        corefile: "hosts.example:{port} {\n bind 127.0.0.1 ::1\n log\n siit {\n eam 192.0.2.10 2001:db8::1\n eam 192.0.2.11 2001:DB8:a:b:c:d:e:f\n eam ::ffff:192.0.2.12 64:ff9b::10.0.0.5\n eam 192.0.2.13 2001:db8::1\n }\n hosts hosts\n}\n\
                   mixed.hosts.example:{port} {\n bind 127.0.0.1 ::1\n log\n siit {\n ipv6_prefix 2001:db8:6400::/40\n }\n hosts hosts\n}\n\
                   nat.hosts.example:{port} {\n bind 127.0.0.1 ::1\n log\n siit {\n ipv6_prefix 64:1::/32\n ipv6_prefix 64:ff9b::/64\n }\n hosts hosts\n}\n\
                   .:{port} {\n bind 127.0.0.1 ::1\n log\n siit {\n ipv6_prefix 2001:db8::/32\n eam 192.0.2.1 2001:db8::7\n }\n whoami\n}\n",
        ..BOTH
    });
}

/// Each may cause lookups by the other, but not endlessly.
#[test]
fn siit_below_dns64() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1 ::1\n dns64\n siit {\n eam 192.0.2.10 2001:db8::1\n }\n cache 30\n hosts hosts {\n fallthrough\n }\n forward . {upstream}\n}\n",
        cached: true,
        logged: false,
        intended: truncated_too_early,
        ..BOTH
    });
}

#[test]
fn siit_with_other_plugins() {
    check(&Set {
        corefile: ".:{port} {\n bind 127.0.0.1 ::1\n errors\n nsid the one\n bufsize 700\n dns64 {\n allow_ipv4\n translate_all\n }\n siit {\n ipv6_prefix 2001:db8::/32\n }\n any\n loadbalance\n \
                   rewrite name exact both.example.org nat.example.org\n rewrite continue ttl regex .* 30-300\n \
                   acl mixed.hosts.example {\n block\n }\n acl odd.hosts.example {\n drop type AAAA\n }\n acl nat.hosts.example {\n filter\n }\n \
                   header {\n response set ra\n }\n minimal\n hosts hosts {\n fallthrough\n }\n forward . {upstream}\n}\n",
        logged: false,
        intended: |difference| {
            let chance =
                || difference.is_of_truncation().then_some("which records fit is chance after a shuffle");
            let flags_of_opt = || {
                super::only_flags_of_opt(difference).then_some("rewrite: the OPT record has no time to live")
            };
            let question = || changed_question(difference);
            truncated_too_early(difference).or_else(chance).or_else(flags_of_opt).or_else(question)
        },
        ..BOTH
    });
}
