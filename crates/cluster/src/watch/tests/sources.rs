//! Permanent errors of sources.

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::want::Want;
use crate::watch::{Source, Tls};

#[tokio::test]
async fn sources_with_permanent_errors_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let check = |source: Source, parts: &[&str]| {
        let e = crate::watch(&source, &Want::default()).err().unwrap_or_else(|| panic!("{source} works"));
        parts.iter().for_each(|part| assert!(e.0.contains(part), "{e} should say {part:?}"));
    };
    let url = |url: &str| Source::Endpoint { url: url.to_owned(), tls: None };
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() {
        check(Source::InCluster, &["in-cluster", "KUBERNETES_SERVICE_HOST"]);
    }
    check(url("ftp://10.0.0.1"), &["endpoint \"ftp://10.0.0.1\"", "expected the URL of an API server"]);
    check(url(""), &["endpoint \"\""]);
    let missing = folder.path().join("missing");
    let kubeconfig = |file: std::path::PathBuf| Source::Kubeconfig { file, context: None };
    check(kubeconfig(missing.clone()), &["/missing"]);
    check(kubeconfig(file("broken", "clusters: {")), &["/broken"]);
    let two = file("two", "apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n");
    check(kubeconfig(two.clone()), &["/two", "context"]);
    check(Source::Kubeconfig { file: two, context: Some("east".into()) }, &["/two", "east"]);
    check(Source::Manifests(missing.clone()), &["/missing"]);
    // Reads from a device never end; a FIFO would even block when opened.
    let zero = || std::path::PathBuf::from("/dev/zero");
    check(kubeconfig(zero()), &["open /dev/zero: is not a regular file"]);
    check(Source::Manifests(zero()), &["/dev/zero: Not a directory"]);
    let fifo = folder.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    check(kubeconfig(fifo.clone()), &["/fifo: is not a regular file"]);
    let tls = Tls { certificate: fifo, key: zero(), authority: zero() };
    check(
        Source::Endpoint { url: "https://127.0.0.1:1".into(), tls: Some(tls) },
        &["/fifo: is not a regular file"],
    );
    let tls = Tls { certificate: missing.clone(), key: missing.clone(), authority: missing };
    check(Source::Endpoint { url: "https://127.0.0.1:1".into(), tls: Some(tls) }, &["/missing"]);
    let none = file("none.pem", "no certificate");
    let tls = Tls { certificate: none.clone(), key: none.clone(), authority: none };
    check(
        Source::Endpoint { url: "https://127.0.0.1:1".into(), tls: Some(tls) },
        &["/none.pem", "has no certificate"],
    );
}
