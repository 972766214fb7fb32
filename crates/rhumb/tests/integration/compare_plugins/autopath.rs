//! Search paths from a file, with plugins below that answer, deny, fail and drop.

use testkit::compare::{Difference, Line};

use super::{PLAIN, Set, check};

const FILES: &[(&str, &str)] = &[
    (
        "resolv.conf",
        "nameserver 127.0.0.1\nsearch A.example.org b.example.org. c.example.org\noptions ndots:5\n",
    ),
    ("domain.conf", "search x y z\ndomain a.example.org b.example.org\n"),
    ("empty.conf", "nameserver 127.0.0.1\n"),
    (
        "hosts",
        "10.0.0.1 one.a.example.org\n10.0.0.2 two.b.example.org\n2001:db8::2 two.b.example.org\n\
         10.0.0.3 three.c.example.org\n10.0.0.4 complete\n10.0.0.5 a.example.org example.org\n",
    ),
];

const NAMES: &[&str] = &[
    "one.a.example.org",
    "two.a.example.org",
    "three.a.example.org",
    "complete.a.example.org",
    "nosuch.a.example.org",
    "deep.er.a.example.org",
    "one.b.example.org.a.example.org",
    "two.b.example.org.a.example.org",
    "two.b.example.org",
    "two.c.example.org",
    "example.org",
    "b.example.org",
    "complete",
    "elsewhere.net",
    ".",
];

/// The log shows that each query is logged once.
const BLOCK: &str = ".:{port} {\n bind 127.0.0.1\n errors\n log\n autopath AUTOPATH\n hosts hosts {\n  fallthrough FALL\n }\n BELOW\n}\n";

fn set(autopath: &str, fall: &str, below: &str) -> Set {
    let corefile = BLOCK.replace("AUTOPATH", autopath).replace("FALL", fall).replace("BELOW", below);
    Set { corefile: corefile.leak(), files: FILES, names: NAMES, ..PLAIN }
}

/// Names missing in `hosts` fail there without an error message.
#[test]
fn autopath_from_a_file() {
    check(&set("resolv.conf", "elsewhere.net", ""));
}

/// Every name is answered in the first domain.
#[test]
fn autopath_above_whoami() {
    check(&set("example.org resolv.conf", "", "whoami"));
}

/// REFUSED from a template continues the search; REFUSED from acl ends it.
#[test]
fn autopath_above_refusals() {
    let refuse = |name: &str, code: &str| {
        format!(
            "template ANY ANY a.example.org {{\n  match ^{name}[.]\n  rcode {code}\n  fallthrough\n }}\n "
        )
    };
    let codes = [("two", "REFUSED"), ("three", "FORMERR"), ("complete", "NOTIMP"), ("nosuch", "REFUSED")];
    let below: String = codes.iter().map(|(name, code)| refuse(name, code)).collect();
    let denied = "template ANY ANY . {\n  match ^nosuch\n  rcode NXDOMAIN\n  fallthrough\n }\n ";
    let acl = "acl er.a.example.org {\n  block\n }\n whoami";
    check(&set("resolv.conf", "", &format!("{below}{denied}{acl}")));
}

#[test]
fn autopath_of_one_domain() {
    check(&set("domain.conf", "b.example.org", "whoami"));
}

#[test]
fn autopath_of_no_domain() {
    check(&set("empty.conf", "example.org", "any\n chaos\n minimal"));
}

/// Of several lines the last one sets the zones; other options accumulate.
#[test]
fn autopath_twice() {
    check(&set(
        "elsewhere.net resolv.conf\n autopath b.example.org @nosuch",
        "b.example.org",
        "erratic {\n  drop 0\n }",
    ));
}

/// The plugins below see each domain's query separately.
#[test]
fn autopath_above_acl() {
    let acl = "acl b.example.org {\n  block type A\n  filter type AAAA\n  drop type TXT\n }\n acl a.example.org {\n  drop type MX\n }";
    check(&Set { in_order: true, ..set("resolv.conf", "c.example.org", &format!("{acl}\n loadbalance")) });
}

#[test]
fn autopath_of_erratic() {
    check(&set("@erratic", "", "acl a.example.org {\n  drop\n }\n erratic {\n  drop 0\n  large\n }"));
}

/// Whether the logged answers are equal; see [`intended`].
pub fn is_logged_equally(qtype: &str, name: &str) -> bool {
    name != "a.example.org." && !["AXFR", "IXFR"].contains(&qtype)
}

/// Differences in docs/differences.md; the domain is the first one of all paths here.
pub fn intended(difference: &Difference) -> Option<&'static str> {
    const DOMAIN: &str = " a.example.org. ";
    let description = difference.query.description.to_lowercase();
    let text = |line: &Line| match line {
        Line::Left(text) | Line::Right(text) => text.clone(),
    };
    let lines: Vec<String> = difference.lines.iter().map(text).collect();
    let is_searched = description.contains(&DOMAIN[1..]);
    if is_searched && lines.iter().all(|line| line.starts_with("question ")) {
        return Some("autopath: a reply has the question's spelling");
    }
    if description.contains(DOMAIN) && lines.iter().any(|line| line.contains("SERVFAIL")) {
        return Some("autopath: the first domain of a search path has its own answers");
    }
    let transfer = [" axfr ", " ixfr "].iter().any(|qtype| description.contains(qtype));
    (is_searched && transfer).then_some("autopath: zone transfers are not searched for")
}
