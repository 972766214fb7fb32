//! `forward` over TLS and HTTPS to a real CoreDNS: the answers equal those over plain DNS. An upstream without the right
//! certificate gets no query, and the log has CoreDNS's error.

use std::time::Duration;

use testkit::certificate::Authority;
use testkit::client;
use testkit::compare::Comparison;
use testkit::peers::Peer;
use testkit::query::{Generator, Options, Pool};
use testkit::{DnsServer, Kind};
use wire::{NameBuf, Query, Rcode, Rtype};

const QUERIES: usize = 1_000;
/// The only name in the server's certificate.
const NAME: &str = "dns.example.org";

const ZONE: &str = "\
$ORIGIN example.org.
@      3600 IN SOA ns.example.org. hostmaster.example.org. 2026111501 7200 1800 86400 60
@      3600 IN NS  ns
@      300  IN MX  10 mail
ns     300  IN A   192.0.2.53
mail   300  IN A   192.0.2.25
www    20   IN A   192.0.2.80
www    20   IN AAAA 2001:db8::80
alias  60   IN CNAME www
txt    60   IN TXT \"hello\" \"world\"
sub    300  IN NS  ns.sub
ns.sub 300  IN A   192.0.2.54
";

const NAMES: &[&str] = &[
    "example.org",
    "www.example.org",
    "alias.example.org",
    "txt.example.org",
    "x.sub.example.org",
    "missing.example.org",
];

/// A CoreDNS with one zone, over plain DNS, TLS and HTTPS.
struct Upstream {
    server: DnsServer,
    tls: u16,
    https: u16,
    /// Requires client certificates.
    mutual: u16,
    mutual_https: u16,
    authority: Authority,
}

impl Upstream {
    fn start() -> Upstream {
        let [plain, tls, https, mutual, mutual_https] =
            [0; 5].map(|_| testkit::ports::free().expect("a port"));
        let authority = Authority::new("the right one").expect("an authority");
        let certificate = authority.issue(&[NAME]).expect("a certificate");
        let corefile = format!(
            ".:{plain} {{\n bind 127.0.0.1\n file zone example.org\n}}\n\
             tls://.:{tls} {{\n bind 127.0.0.1\n tls cert.pem key.pem\n file zone example.org\n}}\n\
             https://.:{https} {{\n bind 127.0.0.1\n tls cert.pem key.pem\n file zone example.org\n}}\n\
             tls://.:{mutual} {{\n bind 127.0.0.1\n tls cert.pem key.pem ca.pem {{\n client_auth require_and_verify\n }}\n file zone example.org\n}}\n\
             https://.:{mutual_https} {{\n bind 127.0.0.1\n tls cert.pem key.pem ca.pem {{\n client_auth require_and_verify\n }}\n file zone example.org\n}}\n"
        );
        let files = [
            ("zone", ZONE),
            ("cert.pem", &certificate.cert),
            ("key.pem", &certificate.key),
            ("ca.pem", authority.pem()),
        ];
        let server = DnsServer::start_with_files(Kind::CoreDns, &corefile, plain, &files)
            .unwrap_or_else(|error| panic!("{error}"));
        Upstream { server, tls, https, mutual, mutual_https, authority }
    }

    /// A server that forwards everything; `{tls}` and the like in `forward` become ports. Beside its Corefile
    /// are the right CA and another one, and a certificate of each for the server itself.
    fn forwarder(&self, kind: Kind, forward: &str) -> DnsServer {
        let other = Authority::new("another one").expect("an authority");
        let own = self.authority.issue(&["client.example.org"]).expect("a certificate");
        let forged = other.issue(&["client.example.org"]).expect("a certificate");
        let port = testkit::ports::free().expect("a port");
        let mut corefile = format!(".:{port} {{\n bind 127.0.0.1\n errors\n forward . {forward}\n}}\n");
        for (word, port) in [
            ("{tls}", self.tls),
            ("{https}", self.https),
            ("{mutual}", self.mutual),
            ("{mutual_https}", self.mutual_https),
        ] {
            corefile = corefile.replace(word, &port.to_string());
        }
        let files = [
            ("ca.pem", self.authority.pem()),
            ("other.pem", other.pem()),
            ("own.pem", &own.cert),
            ("own.key", &own.key),
            ("forged.pem", &forged.cert),
            ("forged.key", &forged.key),
        ];
        DnsServer::start_with_files(kind, &corefile, port, &files).unwrap_or_else(|error| panic!("{error}"))
    }
}

#[test]
fn answers_equal_those_of_the_upstream() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let upstream = Upstream::start();
    for forward in [
        "tls://127.0.0.1:{tls} {\n tls ca.pem\n tls_servername dns.example.org\n }",
        "tls://127.0.0.1%dns.example.org:{tls} {\n tls ca.pem\n }",
        "tls://127.0.0.1:{mutual} {\n tls own.pem own.key ca.pem\n tls_servername dns.example.org\n }",
        "https://127.0.0.1:{https} {\n tls ca.pem\n tls_servername dns.example.org\n }",
        "https://127.0.0.1:{https} {\n tls ca.pem\n tls_servername dns.example.org\n doh_method GET\n }",
        "https://127.0.0.1:{mutual_https} {\n tls own.pem own.key ca.pem\n tls_servername dns.example.org\n }",
    ] {
        let rhumb = upstream.forwarder(Kind::Rhumb, forward);
        // Over plain DNS the upstream itself refuses other classes and opcodes.
        let options = Options { odd_headers: 0.0, odd_names: 0.01, ..Options::default() };
        let generator = Generator::from_env([Pool::new(1, NAMES.iter().copied())], options);
        println!("{forward}: seed {}", generator.seed());
        let report =
            Comparison::new(("the upstream", upstream.server.addr()), ("Rhumb before it", rhumb.addr()))
                .timeout(Duration::from_secs(6))
                .check(generator, QUERIES);
        assert_eq!(report.queries, QUERIES);
        assert_eq!(report.silent, 0);
    }
}

/// The rcode of the answer, and the last log line.
fn failure(server: &DnsServer, name: &str) -> (Rcode, String) {
    let query = Query::ask(NameBuf::parse(name).expect("a name").as_name(), Rtype::A).to_packet();
    let outcome = client::udp(server.addr(), &query, Duration::from_secs(8), 0)
        .unwrap_or_else(|error| panic!("{error}"));
    let reply = outcome.reply().unwrap_or_else(|| panic!("no answer; the log:\n{}", server.output()));
    let line = server
        .process()
        .wait_for_line("plugin/errors: ", Duration::from_secs(5))
        .unwrap_or_else(|error| panic!("{error}"));
    let text = line.split_once("plugin/errors: ").map_or("", |(_, text)| text).to_owned();
    (Rcode(u16::from(reply[3] & 0xF)), text)
}

#[test]
fn untrusted_upstreams_get_no_query() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let upstream = Upstream::start();
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let wrong = "tls: failed to verify certificate: x509: certificate is valid for dns.example.org, not other.example.org";
    let address = "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs";
    let post = |text: &str| format!("Post \"https://127.0.0.1:{}/dns-query\": {text}", upstream.https);
    for (forward, expected) in [
        ("tls://127.0.0.1:{tls} {\n tls other.pem\n tls_servername dns.example.org\n }", unknown.to_owned()),
        ("tls://127.0.0.1:{tls} {\n tls ca.pem\n tls_servername other.example.org\n }", wrong.to_owned()),
        ("tls://127.0.0.1:{tls} {\n tls ca.pem\n }", address.to_owned()),
        ("https://127.0.0.1:{https} {\n tls other.pem\n tls_servername dns.example.org\n }", post(unknown)),
        ("https://127.0.0.1:{https} {\n tls ca.pem\n tls_servername other.example.org\n }", post(wrong)),
        ("https://127.0.0.1:{https} {\n tls ca.pem\n }", post(address)),
    ] {
        // Without health checks the number of attempts is deterministic.
        let forward = forward.replace("\n }", "\n max_connect_attempts 1\n max_fails 0\n }");
        for kind in [Kind::CoreDns, Kind::Rhumb] {
            let server = upstream.forwarder(kind, &forward);
            let (rcode, text) = failure(&server, "www.example.org.");
            assert_eq!(rcode, Rcode::SERVFAIL, "{kind:?}: {forward}");
            assert_eq!(text, format!("2 www.example.org. A: {expected}"), "{kind:?}: {forward}");
        }
    }
}

#[test]
fn upstream_that_requires_a_client_certificate() {
    if Peer::CoreDns.for_test().is_none() {
        return;
    }
    let upstream = Upstream::start();
    let refused = |kind, to: &str, tls: &str| {
        let options = format!("{tls}\n tls_servername {NAME}\n max_connect_attempts 1\n max_fails 0");
        let server = upstream.forwarder(kind, &format!("{to} {{\n {options}\n }}"));
        let (rcode, text) = failure(&server, "www.example.org.");
        assert_eq!(rcode, Rcode::SERVFAIL, "{to} {tls}");
        text
    };
    let over_tls = "tls://127.0.0.1:{mutual}";
    let required = "2 www.example.org. A: remote error: tls: certificate required";
    for kind in [Kind::CoreDns, Kind::Rhumb] {
        assert_eq!(refused(kind, over_tls, "tls ca.pem"), required);
    }
    // CoreDNS does not send a certificate of a CA the upstream did not request.
    let forged = "tls forged.pem forged.key ca.pem";
    let unknown = "2 www.example.org. A: remote error: tls: unknown certificate authority";
    assert_eq!(refused(Kind::Rhumb, over_tls, forged), unknown);
    // Over HTTPS the rejection may arrive while the request is being sent, and be lost.
    for tls in ["tls ca.pem", forged] {
        let text = refused(Kind::Rhumb, "https://127.0.0.1:{mutual_https}", tls);
        let start = format!("2 www.example.org. A: Post \"https://127.0.0.1:{}/", upstream.mutual_https);
        assert!(text.starts_with(&start) && !text.contains("canceled"), "{text}");
    }
}
