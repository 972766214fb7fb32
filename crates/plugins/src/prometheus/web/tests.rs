use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::tls::{Authorities, ClientAuth, ServerSettings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, CertifiedKey, IsCa, KeyPair, SanType};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};
use server::http::{Rate, Rules, WebSource};

use super::WebFile;
use super::file_cache::FileCache;
use crate::testing::broken_file;

pub(in crate::prometheus) const CERTIFICATE: &str =
    "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n";

/// A folder with `cert.pem`, `key.pem` and a web configuration.
pub(in crate::prometheus) fn folder_with(web: &str) -> (tempfile::TempDir, CertifiedKey<KeyPair>) {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    std::fs::write(folder.path().join("web.yml"), web).unwrap();
    (folder, made)
}

/// Loads a web configuration. Errors show paths without their folder.
fn load(text: &str) -> Result<(Option<ServerSettings>, Rules), String> {
    let (folder, _) = folder_with(text);
    let load = || {
        let file = WebFile::open(&folder.path().join("web.yml"))?;
        Ok((file.tls()?, file.rules()?))
    };
    load().map_err(|error: String| error.replace(&format!("{}/", folder.path().display()), ""))
}

/// The TLS settings of a file with these lines in `tls_server_config`.
fn tls(lines: &str) -> ServerSettings {
    let text = format!("{CERTIFICATE}{}", indented(lines));
    load(&text).unwrap_or_else(|error| panic!("{text}: {error}")).0.expect("TLS")
}

fn offers_http2(settings: &ServerSettings) -> bool {
    settings.protocols.iter().any(|name| name == b"h2")
}

fn rules(text: &str) -> Rules {
    load(text).unwrap_or_else(|error| panic!("{text}: {error}")).1
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}\n")).collect()
}

#[test]
fn configurations_without_effect() {
    for off in ["", "# nothing\n", "tls_server_config: {}\n", "http_server_config:\n  http2: false\n"] {
        let (tls, rules) = load(off).unwrap_or_else(|error| panic!("{off}: {error}"));
        assert!(tls.is_none(), "{off}");
        assert_eq!(rules, Rules::default(), "{off}");
    }
}

#[test]
fn versions_suites_and_curves() {
    for (lines, tls12, tls13) in [
        ("", true, true),
        ("min_version: TLS10\n", true, true),
        ("min_version: TLS13\n", false, true),
        ("max_version: TLS12\nprefer_server_cipher_suites: true\n", true, false),
        ("min_version: TLS12\nmax_version: TLS12\n", true, false),
    ] {
        let tls = tls(lines);
        assert_eq!((tls.tls12, tls.tls13, offers_http2(&tls)), (tls12, tls13, true), "{lines}");
    }
    let suites = |lines: &str| {
        let config = tls(lines).config().unwrap();
        let names = config.crypto_provider().cipher_suites.iter().map(|suite| format!("{:?}", suite.suite()));
        names.collect::<Vec<String>>().join(" ")
    };
    let tls13 = "TLS13_AES_256_GCM_SHA384 TLS13_AES_128_GCM_SHA256 TLS13_CHACHA20_POLY1305_SHA256";
    assert_eq!(
        suites(
            "cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\n"
        ),
        format!("{tls13} TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    );
    assert_eq!(suites("cipher_suites: [TLS_AES_128_GCM_SHA256]\n"), tls13);
    assert_eq!(suites("cipher_suites: []\n"), suites(""));
    assert!(
        suites("min_version: TLS13\ncipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]\n")
            .starts_with(tls13)
    );
    let curves = |lines: &str| {
        let config = tls(lines).config().unwrap();
        let names = config.crypto_provider().kx_groups.iter().map(|group| format!("{:?}", group.name()));
        names.collect::<Vec<String>>().join(" ")
    };
    assert_eq!(curves("curve_preferences: [CurveP384, CurveP521, X25519]\n"), "X25519 secp384r1");
    assert_eq!(curves("curve_preferences: [CurveP256]\n"), "secp256r1");
    assert_eq!(curves("curve_preferences: []\n"), curves(""));
    // The file itself may contain certificate and key.
    let (_, made) = folder_with("");
    let (cert, key) = (indented(&made.cert.pem()), indented(&made.signing_key.serialize_pem()));
    let text = format!("tls_server_config:\n  cert: |\n{}  key: |\n{}", indented(&cert), indented(&key));
    assert!(load(&text).unwrap().0.is_some());
    let (tls, _) = load(&format!("{CERTIFICATE}http_server_config:\n  http2: false\n")).unwrap();
    assert!(!offers_http2(&tls.unwrap()));
}

#[test]
fn clients() {
    let asked = ClientAuth { requested: true, ..ClientAuth::default() };
    let required = ClientAuth { required: true, ..asked.clone() };
    let by_system =
        |clients: &ClientAuth| ClientAuth { signed_by: Some(Authorities::System), ..clients.clone() };
    for (lines, expected) in [
        ("client_auth_type: NoClientCert\n", ClientAuth::default()),
        ("client_auth_type: RequestClientCert\n", asked.clone()),
        ("client_auth_type: RequireAnyClientCert\n", required.clone()),
        ("client_auth_type: RequireClientCert\nclient_ca_file: cert.pem\n", required.clone()),
        ("client_auth_type: VerifyClientCertIfGiven\n", by_system(&asked)),
        ("client_auth_type: RequireAndVerifyClientCert\n", by_system(&required)),
        (
            "client_auth_type: RequestClientCert\nclient_allowed_sans: [a, b]\n",
            ClientAuth { names: Some(vec!["a".to_owned(), "b".to_owned()]), ..asked.clone() },
        ),
    ] {
        // Without WebFile::open, which fails on machines without system authorities.
        let (folder, _) = folder_with(&format!("{CERTIFICATE}{}", indented(lines)));
        let path = folder.path().join("web.yml");
        let file = WebFile { path, requires_tls: true, files: FileCache::default() };
        assert_eq!(file.tls().unwrap().unwrap().client_auth, expected, "{lines}");
    }
    let tls = tls("client_auth_type: RequireAndVerifyClientCert\nclient_ca_file: cert.pem\n");
    assert!(matches!(tls.client_auth.signed_by, Some(Authorities::Pem(_))));
}

#[test]
fn rules_of_requests() {
    let none = Rules::default();
    let hash = "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";
    let users = [("me".to_owned(), hash.to_owned())].into();
    assert_eq!(rules(&format!("basic_auth_users:\n  me: {hash}\n")), Rules { users, ..none.clone() });
    assert_eq!(rules("basic_auth_users: {}\n"), none);

    let headers =
        "http_server_config:\n  headers:\n    X-XSS-Protection: \"\"\n    X-Frame-Options: sameorigin\n";
    let expected = vec![("X-Frame-Options".to_owned(), "sameorigin".to_owned())];
    assert_eq!(rules(headers), Rules { headers: expected, ..none.clone() });

    for (lines, expected) in [
        ("interval: 1.5s\nburst: 3\n", Some((1500, 3))),
        ("interval: 20000000\nburst: 3\n", Some((20, 3))),
        ("interval: 1s\n", Some((1000, 0))),
        ("interval: 1s\nburst: -1\n", Some((1000, 0))),
        ("interval: 0\nburst: 3\n", None),
        ("interval: -1s\nburst: 3\n", None),
        ("burst: 3\n", None),
    ] {
        let rate = expected.map(|(millis, burst)| Rate { interval: Duration::from_millis(millis), burst });
        assert_eq!(rules(&format!("rate_limit:\n{}", indented(lines))).rate, rate, "{lines}");
    }
}

#[test]
fn refused() {
    let with = |lines: &str| format!("{CERTIFICATE}{}", indented(lines));
    let cbc = "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA";
    for (text, error) in [
        ("tls_server_config:\n  cert_file: cert.pem\n".to_owned(), "missing one of key or key_file"),
        ("tls_server_config:\n  key_file: key.pem\n".to_owned(), "missing one of cert or cert_file"),
        (
            "tls_server_config:\n  cert_file: nope\n  key_file: nope\n".to_owned(),
            "failed to read cert_file (nope): open nope: no such file or directory",
        ),
        (
            "tls_server_config:\n  cert_file: web.yml\n  key_file: key.pem\n".to_owned(),
            "failed to load X509KeyPair: no certificate found",
        ),
        (with("client_ca_file: cert.pem\n"), "client CA's have been configured without a Client Auth Policy"),
        (
            with("client_auth_type: VerifyClientCertIfGiven\nclient_ca_file: key.pem\n"),
            "client_ca_file: no certificate found",
        ),
        (with("client_auth_type: Nonsense\n"), "invalid ClientAuth: Nonsense"),
        (
            with("client_allowed_sans: [me]\n"),
            "client_allowed_sans: client_auth_type requests no certificates; \
             set it to RequireAndVerifyClientCert",
        ),
        (
            with("max_version: TLS11\n"),
            "max_version: versions below TLS 1.2 are not supported; set TLS12 or TLS13, or remove it",
        ),
        (with("min_version: TLS13\nmax_version: TLS12\n"), "min_version is above max_version; lower it"),
        (with("cipher_suites: [TLS_NONSENSE]\n"), "cipher_suites: unknown cipher: TLS_NONSENSE"),
        (
            with(&format!("cipher_suites: [{cbc}]\n")),
            "cipher_suites: for TLS 1.2 rustls has none of TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, and nothing with CBC; \
             name a suite with GCM or CHACHA20_POLY1305",
        ),
        (
            with("curve_preferences: [CurveP521]\n"),
            "curve_preferences: rustls has no secp521r1; name CurveP256, CurveP384 or X25519 too",
        ),
        (
            "basic_auth_users:\n  me: $2y$10$abc\n".to_owned(),
            "basic_auth_users: me: not a bcrypt hash: Invalid hash: the hash format is malformed; \
             expected 60 ASCII bytes; make one with htpasswd -nBC 10 me",
        ),
        (
            "http_server_config:\n  headers:\n    Server: me\n".to_owned(),
            "headers: HTTP header \"Server\" can not be configured",
        ),
        (
            "http_server_config:\n  headers:\n    X-Frame-Options: allow\n".to_owned(),
            "headers: invalid value for X-Frame-Options. Expected one of: [\"deny\", \"sameorigin\"], but got: \"allow\"",
        ),
        (
            "http_server_config:\n  headers:\n    X-XSS-Protection: \"a\\nb\"\n".to_owned(),
            "headers: X-XSS-Protection: expected a value without control characters, got \"a\\nb\"",
        ),
        (
            "rate_limit:\n  interval: soon\n".to_owned(),
            "rate_limit: interval: time: invalid duration \"soon\"",
        ),
    ] {
        assert_eq!(load(&text).err(), Some(format!("web.yml: {error}")), "{text}");
    }
    for wrong in [
        "nonsense: 1\n",
        "tls_server_config:\n  nonsense: 1\n",
        "tls_server_config:\n  min_version: SSL3\n",
        "tls_server_config:\n  curve_preferences: [Curve]\n",
        "http_server_config:\n  http2: perhaps\n",
        "rate_limit:\n  burst: many\n",
        "{",
        "- a\n",
    ] {
        let error = load(wrong).err();
        assert!(
            error.as_ref().is_some_and(|error| error.starts_with("web.yml: yaml: ")),
            "{wrong}: {error:?}"
        );
    }
    let error = WebFile::open(Path::new("/no/such")).err();
    assert_eq!(error.as_deref(), Some("open /no/such: no such file or directory"));
}

#[test]
fn unreadable_files_stay_as_they_were() {
    let clients = "client_ca_file: ca.pem\nclient_auth_type: RequireAndVerifyClientCert\n";
    let (folder, _) = folder_with(&format!("{CERTIFICATE}{}", indented(clients)));
    std::fs::copy(folder.path().join("cert.pem"), folder.path().join("ca.pem")).unwrap();
    let file = WebFile::open(&folder.path().join("web.yml")).unwrap_or_else(|error| panic!("{error}"));
    type Part = fn(ServerSettings) -> Vec<u8>;
    let ca: Part = |tls| match tls.client_auth.signed_by {
        Some(Authorities::Pem(pem)) => pem,
        _ => Vec::new(),
    };
    // The contents are not parsed here: the first octet is the version.
    let parts: [(&str, Part); 3] =
        [("cert.pem", |tls| tls.certificates), ("key.pem", |tls| tls.key), ("ca.pem", ca)];
    for (name, part) in parts {
        let in_use = || file.tls().ok()?.map(part)?.first().copied();
        let version = |version: u8| char::from(version).to_string();
        broken_file::check(&folder.path().join(name), version, || drop(file.tls()), in_use);
    }
    let burst = |version: u8| format!("rate_limit:\n  interval: 1s\n  burst: {version}\n");
    let in_use = || file.rules().ok()?.rate.map(|rate| rate.burst as u8);
    broken_file::check(&folder.path().join("web.yml"), burst, || drop(file.rules()), in_use);
}

#[test]
fn the_example_in_the_manual_loads() {
    let manual = include_str!("../README.md");
    let example =
        manual.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let (folder, _) = folder_with(example);
    for (from, to) in [("cert.pem", "tls.crt"), ("key.pem", "tls.key"), ("cert.pem", "clients.crt")] {
        std::fs::copy(folder.path().join(from), folder.path().join(to)).unwrap();
    }
    let file = WebFile::open(&folder.path().join("web.yml")).unwrap_or_else(|error| panic!("{error}"));
    assert!(file.tls().unwrap().is_some_and(|tls| tls.config().is_ok()));
    let rules = file.rules().unwrap();
    assert_eq!((rules.users.len(), rules.headers.len(), rules.rate.is_some()), (1, 1, true));
}

/// A client's certificate chain and key.
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// Runs a TLS handshake in memory; true if the server accepts the client.
fn accepts(server: &ServerSettings, trusted: &CertificateDer<'static>, identity: Option<&Identity>) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match identity {
        Some(Identity { chain, key }) => {
            builder.with_client_auth_cert(chain.clone(), key.clone_key()).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    let mut client = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let mut server = ServerConnection::new(server.config().unwrap()).unwrap();
    while server.is_handshaking() {
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        server.read_tls(&mut &*bytes).unwrap();
        if server.process_new_packets().is_err() {
            return false;
        }
        let mut bytes = Vec::new();
        server.write_tls(&mut bytes).unwrap();
        client.read_tls(&mut &*bytes).unwrap();
        client.process_new_packets().unwrap();
    }
    true
}

#[test]
fn client_certificates() {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let names = || {
        vec![
            SanType::DnsName("scraper.example.org".try_into().unwrap()),
            SanType::Rfc822Name("me@example.org".try_into().unwrap()),
            SanType::URI("spiffe://example.org/scraper".try_into().unwrap()),
            SanType::IpAddress("192.0.2.1".parse().unwrap()),
            SanType::IpAddress("2001:db8::1".parse().unwrap()),
        ]
    };
    let identity = |signed: bool| {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.subject_alt_names = names();
        let key = KeyPair::generate().unwrap();
        let made =
            if signed { params.signed_by(&key, &authority) } else { params.self_signed(&key) }.unwrap();
        Identity { chain: vec![made.der().clone()], key: PrivateKeyDer::Pkcs8(key.serialize_der().into()) }
    };
    let (signed, unsigned) = (identity(true), identity(false));

    let (folder, own) = folder_with("");
    std::fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
    let web = folder.path().join("web.yml");
    let check = |lines: &str, expected: [bool; 3]| {
        for version in ["TLS12", "TLS13"] {
            let lines = format!("{lines}min_version: {version}\nmax_version: {version}\n");
            std::fs::write(&web, format!("{CERTIFICATE}{}", indented(&lines))).unwrap();
            let tls = WebFile::open(&web).unwrap().tls().unwrap().unwrap();
            let got = [None, Some(&unsigned), Some(&signed)]
                .map(|identity| accepts(&tls, own.cert.der(), identity));
            assert_eq!(got, expected, "{lines}");
        }
    };
    check("", [true, true, true]);
    check("client_auth_type: RequestClientCert\n", [true, true, true]);
    check("client_auth_type: RequireAnyClientCert\n", [false, true, true]);
    let ca = "client_ca_file: ca.pem\n";
    check(&format!("client_auth_type: VerifyClientCertIfGiven\n{ca}"), [true, false, true]);
    let verified = format!("client_auth_type: RequireAndVerifyClientCert\n{ca}");
    check(&verified, [false, false, true]);
    for name in [
        "scraper.example.org",
        "me@example.org",
        "spiffe://example.org/scraper",
        "192.0.2.1",
        "\"2001:db8::1\"",
    ] {
        check(&format!("{verified}client_allowed_sans: [other, {name}]\n"), [false, false, true]);
    }
    for name in ["", "other", "SCRAPER.example.org", "*.example.org"] {
        check(&format!("{verified}client_allowed_sans: [\"{name}\"]\n"), [false, false, false]);
    }
    check(&format!("{verified}client_allowed_sans: []\n"), [false, false, false]);
    // A list of names requires a certificate, even if client_auth_type only requests one.
    check(
        "client_auth_type: RequestClientCert\nclient_allowed_sans: [me@example.org]\n",
        [false, true, true],
    );
}
