//! Before a cluster is synced, and when it cannot be reached.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use server::{Config, Ready};

use super::shop::SHOP;
use super::{block, serve, serve_folder};
use crate::log::capture::Capture;
use crate::testing::harness::{answer, configure, present};

/// No process listens there.
const CLOSED_PORT: &str = "http://127.0.0.1:1";

fn unreachable(options: &str) -> String {
    format!("kubernetes cluster.local {{\nendpoint {CLOSED_PORT}\n{options}\n}}\n")
}

/// A Corefile can be checked without a cluster, but not served.
#[test]
fn no_service_account() {
    let config = configure(".:53 {\nkubernetes cluster.local\n}\n").unwrap();
    let error = "plugin/kubernetes: unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and \
                 KUBERNETES_SERVICE_PORT must be defined";
    assert_eq!(config.prepare(), Err(error.to_owned()));
}

#[test]
fn no_such_folder() {
    let corefile = block("").replace("FOLDER", "/no/such/folder");
    let error = configure(&corefile).unwrap().prepare().unwrap_err();
    assert!(error.starts_with("plugin/kubernetes: ") && error.contains("/no/such/folder"), "{error}");
}

/// An unlisted name is SERVFAIL, not NXDOMAIN; fallthrough still applies.
#[test]
fn no_nxdomain_before_sync() {
    let log = Capture::take();
    let corefile = format!(
        ".:53 {{\n{}whoami\n}}\n",
        unreachable("startup_timeout 1200ms\nfallthrough fall.svc.cluster.local")
    );
    let config = configure(&corefile).unwrap();
    let began = Instant::now();
    config.prepare().unwrap();
    assert!(began.elapsed() >= Duration::from_millis(1200));
    let lines = log.lines("plugin/kubernetes");
    let of = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    let waiting = "[INFO] plugin/kubernetes: waiting for Kubernetes API before starting server";
    assert_eq!(of(waiting), 2, "{lines:?}");
    assert_eq!(
        of("[WARNING] plugin/kubernetes: starting server with unsynced Kubernetes API"),
        1,
        "{lines:?}"
    );

    let service = config.services().next().unwrap().1;
    for (question, start) in [
        (
            "web.shop.svc.cluster.local A",
            "SERVFAIL qr,aa\nauthority: cluster.local. 5 IN SOA ns.dns.cluster.local. hostmaster.cluster.local. 0 ",
        ),
        ("cluster.local A", "NOERROR qr,aa\nauthority: cluster.local. 5 IN SOA "),
        ("web.fall.svc.cluster.local A", "NOERROR qr,aa\nadditional: "),
        ("dns-version.cluster.local TXT", "NOERROR qr,aa\nanswer: "),
    ] {
        let got = answer(service, question);
        assert!(got.starts_with(start), "{question}: {got}");
    }
    assert!(!readiness(&config).ready());
}

/// `/ready` names a source that never answered.
#[test]
fn readiness_names_the_source() {
    let _log = Capture::take();
    let corefile = format!(".:53 {{\n{}}}\n", unreachable("startup_timeout 0s\nstale_ready 1ms"));
    let config = configure(&corefile).unwrap();
    config.prepare().unwrap();
    let ready = readiness(&config);
    wait_for(|| ready.why_not().is_some_and(|why| why.contains("refused")));
    let why = ready.why_not().unwrap();
    assert!(why.starts_with(&format!("{CLOSED_PORT} stale for 0s: ")) && !ready.ready(), "{why}");
}

/// The startup timeout passes once, not once per block.
#[test]
fn clusters_are_waited_for_together() {
    let blocks: String = (1..=5)
        .map(|port| {
            let options =
                unreachable("startup_timeout 500ms").replace("127.0.0.1:1", &format!("127.0.0.1:{port}"));
            format!(".:{port} {{\n{options}}}\n")
        })
        .collect();
    // Captured, because other tests count the same log lines.
    let _log = Capture::take();
    let config = configure(&blocks).unwrap();
    let began = Instant::now();
    config.prepare().unwrap();
    assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
}

#[test]
fn ready_when_synced() {
    let served = serve(&block("stale_ready 1h"), SHOP);
    assert!(readiness(&served.config).ready());
}

/// The last objects stay when the folder disappears; changes apply while it exists.
#[test]
fn changes_apply_and_a_lost_folder_keeps_its_objects() {
    let log = Capture::take();
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("manifests");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("a.yaml"), SHOP).unwrap();
    let served = serve_folder(&block("stale_ready 1s").replace("FOLDER", "FOLDER/manifests"), folder);
    let ready = readiness(&served.config);
    let is_ready = || ready.ready();
    let ask = || present(&served.ask("web.shop.svc.cluster.local A"));
    assert!(ask().contains("10.96.0.7"));
    let inner = served.folder.path().join("manifests");
    fs::write(inner.join("a.yaml"), SHOP.replace("10.96.0.7", "10.96.0.77")).unwrap();
    wait_for(|| ask().contains("10.96.0.77"));
    fs::rename(&inner, served.folder.path().join("away")).unwrap();
    wait_for(|| !log.lines("watch of services lost").is_empty());
    // With `stale_ready`, readiness fails and names the cause.
    wait_for(|| !is_ready());
    let why = ready.why_not().unwrap_or_default();
    let start = format!("{} stale for ", inner.display());
    assert!(
        why.starts_with(&start)
            && why.contains("s: ")
            && why.ends_with("No such file or directory (os error 2)"),
        "{why}"
    );
    assert!(ask().contains("10.96.0.77"));
    fs::rename(served.folder.path().join("away"), &inner).unwrap();
    wait_for(is_ready);
}

fn wait_for(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "the condition did not become true in 30s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the first plugin of the first block reports.
fn readiness(config: &Config) -> Arc<dyn Ready> {
    config.blocks()[0].offers::<dyn Ready>().remove(0).value
}
