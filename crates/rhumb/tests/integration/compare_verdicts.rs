//! CoreDNS and Rhumb accept and reject the same Corefiles, with the same messages.
//!
//! Every option of every plugin gets every kind of argument. A server accepts a Corefile if it prints its version, and
//! rejects it if it exits; then the first line of its error is compared.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::peers::Peer;
use testkit::verdict::{first_error, refusal};

/// Plugins and the options inside their braces; an option that does not exist is added to each.
const PLUGINS: &[(&str, &[&str])] = &[
    (
        "acl",
        &[
            "allow",
            "BLOCK type",
            "filter net",
            "drop type A net",
            "block net * type",
            "block type * x net 10.0.0.1",
            "block type None a",
            "block net 10.0.0.0/08 ::1 ::ffff:10.0.0.0/104",
            "block type A type TXT net 10.0.0.0/33",
        ],
    ),
    ("any", &[]),
    ("autopath", &[]),
    ("autopath @erratic\nerratic", &[]),
    ("autopath @whoami\nwhoami", &[]),
    ("autopath example.org /etc/hosts", &[]),
    ("bufsize", &[]),
    (
        "cache",
        &[
            "success",
            "success 100",
            "denial",
            "denial 100 10",
            "prefetch",
            "prefetch 2",
            "serve_stale",
            "serve_stale 1h",
            "serve_stale 1h verify",
            "serve_stale_policy",
            "servfail",
            "disable",
            "disable success",
            "keepttl",
        ],
    ),
    ("cancel", &[]),
    ("chaos", &[]),
    ("debug", &[]),
    (
        "dns64",
        &[
            "prefix",
            "prefix 64:1::/96",
            "prefix 64:1::/97",
            "prefix 64:1::1/32",
            "prefix 64:1::/129",
            "prefix 64:1::",
            "prefix ::ffff:10.0.0.1/104",
            "prefix ::ffff:0:0/96",
            "prefix 10.1.2.3/8",
            "translate_all",
            "allow_ipv4",
        ],
    ),
    ("dns64 64:1::/96", &["prefix", "prefix 64:2::/96", "translate_all", "allow_ipv4"]),
    ("dns64 64:1::/33", &[]),
    ("dns64 64:1::/56 64:2::/56", &[]),
    ("dnstap", &[]),
    (
        "dnstap dnstap.sock full",
        &["identity", "version", "extra", "extra {name}", "skipverify", "tls", "tls a b"],
    ),
    ("dnstap tls://127.0.0.1:1", &["skipverify"]),
    ("dnstap tcp://127.0.0.1:1 full", &["tls"]),
    ("dnstap tcp://127.0.0.1:x", &[]),
    ("dnstap tcp://[::1", &[]),
    ("dnstap listen", &["identity"]),
    ("dnstap listen dnstap.sock", &["identity", "version", "extra", "skipverify", "tls", "tls a b", "tls a"]),
    ("dnstap listen tls://127.0.0.1:0 full", &["tls a b"]),
    ("erratic", &["drop", "truncate", "delay", "large"]),
    ("errors", &["stacktrace", "consolidate", "consolidate 5m ^x$", "consolidate 1s x debug"]),
    (
        "forward . 127.0.0.1",
        &[
            "except",
            "force_tcp",
            "prefer_udp",
            "expire",
            "max_age",
            "max_idle_conns",
            "read_timeout",
            "max_fails",
            "max_connect_attempts",
            "doh_method",
            "tls_servername",
            "policy",
            "health_check",
            "health_check 1s",
            "max_concurrent",
            "next",
            "next_on_nodata",
            "failfast_all_unhealthy_upstreams",
            "failover",
            "source_address",
            "resolver",
        ],
    ),
    ("geoip", &["edns-subnet", "languages"]),
    ("geoip /nonexistent", &["edns-subnet"]),
    ("geoip /", &["edns-subnet"]),
    ("geoip /dev/null", &[]),
    ("geoip Corefile", &["edns-subnet"]),
    ("geoip \"\"", &[]),
    ("k8s_external", &["apex", "ttl", "headless", "fallthrough"]),
    ("header", &["query", "response", "query set", "response clear", "response set aa", "query clear rd"]),
    ("health", &["lameduck"]),
    ("hosts", &["ttl", "no_reverse", "reload", "fallthrough", "fallthrough_unsupported", "10.0.0.1"]),
    ("loadbalance", &["prefer", "reload"]),
    ("loadbalance round_robin", &["prefer"]),
    (
        "loadbalance round_robin {\nprefer 10.0.0.0/8 ::/0 ::ffff:0:0/96\nprefer fe80::/10\n}\nloadbalance",
        &["prefer"],
    ),
    ("loadbalance weighted", &["reload", "prefer"]),
    ("loadbalance weighted weights", &["reload", "reload 0s", "reload 1s", "prefer"]),
    ("loadbalance weighted Corefile", &["reload", "reload 0s"]),
    ("loadbalance weighted /", &["reload 0s"]),
    ("loadbalance random", &["prefer"]),
    ("local", &["localhost_prefix"]),
    ("loop", &[]),
    ("log", &["class", "class denial"]),
    ("log . {combined}", &["class"]),
    ("metadata", &[]),
    ("minimal", &[]),
    ("multisocket", &["2"]),
    ("multisocket 2", &[]),
    ("multisocket 1025", &[]),
    ("nsid", &[]),
    ("on", &[]),
    ("on startup", &["true"]),
    ("on SHUTDOWN true &", &[]),
    ("on certrenew \"'a\"", &[]),
    ("on startup `x", &[]),
    ("on startup \"a \\\\\"", &[]),
    ("pprof", &["block", "block 5"]),
    ("pprof localhost:0", &["block"]),
    ("prometheus 127.0.0.1:0", &["runtime_metrics", "tls"]),
    (
        "proxyproto",
        &[
            "allow",
            "allow 10.0.0.0/8 ::1/128",
            "default",
            "default use",
            "default SKIP",
            "default reject\ndefault ignore",
            "udp_session_tracking",
            "udp_session_tracking 28s",
            "tlv_metadata",
        ],
    ),
    ("ready", &["monitor"]),
    ("reload", &[]),
    (
        "rewrite",
        &[
            "name",
            "name exact a",
            "name regex (.*) {1}",
            "name suffix a b",
            "name suffix a b answer",
            "name suffix a b answer name x",
            "name regex a b metadata",
            "type",
            "type A",
            "class IN",
            "ttl",
            "ttl a",
            "ttl regex a",
            "rcode",
            "rcode a 0",
            "rcode prefix a 0",
            "cname",
            "cname a",
            "edns0",
            "edns0 local",
            "edns0 local set",
            "edns0 local set 0x1",
            "edns0 local unset",
            "edns0 nsid",
            "edns0 nsid set",
            "edns0 subnet set",
            "edns0 subnet set 1",
            "continue",
            "answer",
        ],
    ),
    ("root", &[]),
    (
        "siit",
        &[
            "ipv6_prefix",
            "ipv6_prefix 64:1::/96",
            "ipv6_prefix 64:1::/72",
            "ipv6_prefix 64:1::1/40",
            "ipv6_prefix 2001:db8:122:344:ff00::/96",
            "ipv6_prefix 2001:db8:122:344:ff00::/64",
            "ipv6_prefix ::ffff:10.0.0.1/104",
            "ipv6_prefix 10.1.2.3/8",
            "eam",
            "eam 10.0.0.1",
            "eam 10.0.0.1 2001:db8::1",
            "eam 10.0.0.1 2001:DB8:0:0::1\neam 10.0.0.2",
            "eam ::ffff:10.0.0.1 2001:db8::1",
            "eam 10.0.0.1 ::ffff:10.0.0.1",
            "eam 2001:db8::1 10.0.0.1",
            "eam 10.0.0.1 10.0.0.2",
            "eam 2001:db8::1 2001:db8::2",
            "eam 10.0.0.256 2001:db8::2",
            "eam 10.0.0.1 2001:db8::/64",
        ],
    ),
    ("shed", &["x"]),
    ("template", &[]),
    ("template IN", &[]),
    ("template XX A", &[]),
    ("template IN a", &[]),
    (
        "template ANY ANY example.org",
        &[
            "match",
            "match (",
            "match a{1001}",
            "match [[:foo:]]",
            "answer",
            "answer {{",
            "answer \"{{ .Name \"",
            "answer \"{{ .Name }} IN A {{ nosuch }}\"",
            "answer \"{{ if }}\"",
            "answer a \"{{ $x }}\" b",
            "additional",
            "additional {{1a}}",
            "authority",
            "authority {{end}}",
            "authority \"{{ range $i, 5 }}{{end}}\"",
            "rcode",
            "rcode NXDOMAIN",
            "rcode nxdomain",
            "rcode NOTIMPL",
            "ederror",
            "ederror 21",
            "ederror 21 text",
            "fallthrough",
            "upstream",
            "var",
            "var x",
            "var len",
            "var a.b",
            "var x 1\nvar y x +",
            "expr",
            "expr 1 +",
            "expr name() ==",
        ],
    ),
    ("timeouts", &["read", "write", "idle", "maxtcpqueries"]),
    (
        "trace",
        &[
            "every",
            "service",
            "client_server",
            "client_server T",
            "datadog_analytics_rate",
            "datadog_analytics_rate 0.5",
            "zipkin_max_backlog_size",
            "zipkin_max_batch_size",
            "zipkin_max_batch_interval",
        ],
    ),
    ("trace zipkin", &["every"]),
    ("trace ZIPKIN http://127.0.0.1:9/x", &["every"]),
    ("trace nosuch 127.0.0.1:9", &[]),
    ("view", &[]),
    (
        "view a",
        &[
            "expr",
            "expr 1 +",
            "expr name() ==",
            "expr foo()",
            "expr incidr(client_ip(),",
            "expr name() matches '('",
            "expr \"filter([1], # >\"",
            "expr true &&",
            "expr 'a' in [",
            "expr 5 %",
            "expr true\nexpr false ||",
        ],
    ),
    ("whoami", &[]),
];

/// Options of `kubernetes`, which needs a cluster to start: an unreachable one suffices.
const KUBERNETES: &[&str] = &[
    "endpoint",
    "tls",
    "tls a b",
    "kubeconfig",
    "apiserver_qps",
    "apiserver_burst",
    "apiserver_max_inflight",
    "namespaces",
    "namespaces a\nnamespace_labels",
    "namespace_labels",
    "namespace_labels a in",
    "labels",
    "labels a=b,",
    "pods",
    "endpoint_pod_names",
    "ttl",
    "noendpoints",
    "noendpoints\nzonal",
    "fallthrough",
    "ignore",
    "multicluster",
    "multicluster cluster.local",
    "zonal",
    "startup_timeout",
    "nosuch",
];

/// Options of `k8s_external`, which needs `kubernetes`.
const K8S_EXTERNAL: &[&str] = &["apex", "ttl", "ttl 5\nttl", "headless", "fallthrough", "nosuch"];

const ARGUMENTS: &[&str] = &[
    "",
    "x",
    "0",
    "1",
    "-1",
    "5s",
    "-5s",
    "700",
    "65536",
    "1 2",
    "x y z",
    "on",
    "all",
    "127.0.0.1:0",
    "10.0.0.0/8",
];

/// Plugins that serve HTTP, and their addresses.
const HTTP: &[&str] = &["health", "ready", "pprof", "prometheus"];
const ADDRESSES: &[&str] = &[
    "localhost:",
    "127.0.0.1:+0",
    "127.0.0.1:-1",
    "127.0.0.1:65536",
    "127.0.0.1:no-such-port",
    "127.0.0.1:0x1",
];

/// Intended differences; see docs/differences.md.
fn intended(body: &str, left: &Verdict, right: &Verdict) -> bool {
    match (left, right) {
        // A negative interval makes CoreDNS panic later.
        (_, Verdict::Rejected(right)) if body.contains("reload -5s") && body.contains("weighted") => {
            right.contains("invalid reload duration")
        }
        // A startup_timeout that is not above zero.
        (Verdict::Rejected(left), _) if left.starts_with("panic: ") && body.contains("startup_timeout") => {
            true
        }
        // CoreDNS panics in the background, possibly after printing its version.
        (_, Verdict::Rejected(right)) if right.contains("zipkin_max_batch_interval must be") => true,
        // All our plugins parse ports alike; CoreDNS's health parses them as part of a URL.
        (Verdict::Rejected(left), _) if left.starts_with("parse \"http://") => body.starts_with("health "),
        (Verdict::Rejected(left), Verdict::Rejected(right)) => {
            // Of several unreadable files Rhumb names the first.
            let unreadable = left.contains("unable to read client-cert") && right.contains(": open ");
            // Rhumb's errors name the plugin once.
            unreadable || left.replace("plugin/bufsize: plugin/bufsize: ", "plugin/bufsize: ") == *right
        }
        // CoreDNS starts, and exits when it opens the file; or does not listen, and serves anyway.
        (Verdict::Accepted, Verdict::Rejected(right)) => {
            let on = |plugin: &str| body.starts_with(plugin);
            on("prometheus") && right.contains("Invalid TLS config")
                || (on("prometheus ") || on("ready ")) && right.starts_with("listen tcp: ")
        }
        _ => false,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Accepted,
    Rejected(String),
}

fn bodies() -> Vec<String> {
    let mut bodies = Vec::new();
    for (plugin, options) in PLUGINS {
        // Words after forward's address would be resolved as host names.
        for arguments in ARGUMENTS.iter().filter(|_| !plugin.starts_with("forward")) {
            bodies.push(format!("{plugin} {arguments}"));
        }
        bodies.push(format!("{plugin} {{\n}}"));
        bodies.push(format!("{plugin}\n{plugin}"));
        for option in options.iter().chain(&["nosuch"]) {
            for arguments in ARGUMENTS {
                bodies.push(format!("{plugin} {{\n{option} {arguments}\n}}"));
            }
            bodies.push(format!("{plugin} {{\n{option}\n{option}\n}}"));
        }
    }
    for plugin in HTTP {
        bodies.extend(ADDRESSES.iter().map(|address| format!("{plugin} {address}")));
    }
    bodies
}

fn kubernetes_bodies() -> Vec<String> {
    let mut bodies = Vec::new();
    for zones in ["", "cluster.local", "10.0.0.0/8", "in-addr.arpa cluster.local", "cluster.local x y"] {
        bodies.push(format!("kubernetes {zones} {{\nendpoint http://127.0.0.1:9\nstartup_timeout 10ms\n}}"));
    }
    for option in KUBERNETES {
        for arguments in ARGUMENTS.iter().chain(&["verified", "empty_service", "a=b", "a b", "3601", "1s x"])
        {
            bodies.push(format!(
                "kubernetes cluster.local {{\nendpoint http://127.0.0.1:9\nstartup_timeout 10ms\n{option} {arguments}\n}}"
            ));
        }
    }
    bodies
}

fn bodies_beside_kubernetes() -> Vec<String> {
    let kubernetes = "kubernetes cluster.local {\nendpoint http://127.0.0.1:9\nstartup_timeout 10ms\n}";
    let mut bodies = Vec::new();
    for zones in ["", "example.org", "10.0.0.0/8", "example.org in-addr.arpa", "x y {\n}", "a b"] {
        bodies.push(format!("k8s_external {zones}\n{kubernetes}"));
        bodies.push(format!("k8s_external {zones}\nk8s_external example.net\n{kubernetes}"));
    }
    for option in K8S_EXTERNAL {
        for arguments in ARGUMENTS.iter().chain(&["3600", "3601", "dns", "a.b"]) {
            bodies.push(format!("k8s_external example.org {{\n{option} {arguments}\n}}\n{kubernetes}"));
        }
    }
    for source in ["@kubernetes", "cluster.local @kubernetes", "@whoami", "nosuch", "@kubernetes {\n}"] {
        bodies.push(format!("autopath {source}\n{kubernetes}"));
        bodies.push(format!("autopath {source}\nautopath @nosuch\n{kubernetes}"));
    }
    bodies
}

fn verdict(binary: &Path, corefile: &str) -> Verdict {
    refusal(binary, corefile)
        .map_or(Verdict::Accepted, |text| Verdict::Rejected(first_error(&text).to_owned()))
}

#[test]
fn options_are_accepted_and_rejected_equally() {
    check(&bodies());
}

#[test]
fn kubernetes_options_are_accepted_and_rejected_equally() {
    check(&[kubernetes_bodies(), bodies_beside_kubernetes()].concat());
}

fn check(bodies: &[String]) {
    let Some(coredns) = Peer::CoreDns.for_test() else { return };
    let rhumb = testkit::rhumb::binary().unwrap_or_else(|error| panic!("{error}"));
    let next = AtomicUsize::new(0);
    let found: Mutex<BTreeMap<usize, (Verdict, Verdict)>> = Mutex::new(BTreeMap::new());
    let accepted = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let corefile = format!(".:0 {{\nbind 127.0.0.1\n{body}\n}}\n");
                    let verdicts = (verdict(&coredns, &corefile), verdict(&rhumb, &corefile));
                    accepted.fetch_add(usize::from(verdicts.0 == Verdict::Accepted), Ordering::Relaxed);
                    if verdicts.0 != verdicts.1 && !intended(body, &verdicts.0, &verdicts.1) {
                        let place = bodies.iter().position(|other| other == body).unwrap_or_default();
                        found.lock().expect("not poisoned").insert(place, verdicts);
                    }
                }
            });
        }
    });
    let found = found.into_inner().expect("not poisoned");
    for (place, (left, right)) in found.iter().take(40) {
        println!("{}\n  CoreDNS: {left:?}\n  Rhumb:   {right:?}", bodies[*place]);
    }
    let accepted = accepted.into_inner();
    println!("{} Corefiles, {accepted} of them accepted", bodies.len());
    assert!(accepted > 20 && bodies.len() - accepted > 100, "too few accepted or rejected Corefiles");
    assert_eq!(found.len(), 0, "verdicts differ");
}
