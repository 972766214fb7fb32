//! The archive that `make image` writes: a correct and reproducible OCI image that serves a cluster when run like a
//! kubelet's.
//!
//! `RHUMB_IMAGE` is its path. The containers of these tests need root.

mod archive;
mod container;
mod pod;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use archive::Image;
use container::{Container, Mount, Sandbox};
use pod::Pod;
use testkit::client::Transport;
use testkit::cluster::objects::text;
use testkit::peers::Peer;
use testkit::process::Signal;

const NONROOT: &str = "65532";

/// The image; prints a line and returns None where it is missing and not required.
fn image() -> Option<Image> {
    match std::env::var_os("RHUMB_IMAGE") {
        Some(path) => Some(Image::read(Path::new(&path))),
        None => skip("no image: run make image, and set RHUMB_IMAGE=$PWD/target/image/rhumb.tar"),
    }
}

fn sandbox() -> Option<Sandbox> {
    Sandbox::start().map_err(|error| skip::<()>(&format!("no namespaces here: {error}"))).ok()
}

fn skip<T>(why_not: &str) -> Option<T> {
    assert!(std::env::var_os("RHUMB_PEERS_REQUIRED").is_none(), "{why_not}");
    println!("skipped: {why_not}");
    None
}

/// The contract for a Deployment that only replaces CoreDNS's image.
#[test]
fn archive_is_an_oci_image_that_can_replace_coredns() {
    let Some(image) = image() else { return };
    let version = env!("CARGO_PKG_VERSION");
    for (field, expected) in [
        ("/os", "linux"),
        ("/config/User", "65532:65532"),
        ("/config/Entrypoint/0", "/rhumb"),
        ("/config/WorkingDir", "/"),
        ("/config/Labels/org.opencontainers.image.title", "Rhumb"),
        ("/config/Labels/org.opencontainers.image.licenses", "Apache-2.0"),
        ("/config/Labels/org.opencontainers.image.version", version),
    ] {
        assert_eq!(text(&image.config, field), expected, "{field}");
    }
    assert!(image.config.pointer("/config/Cmd").is_none(), "{}", image.config);
    assert!(image.name.ends_with(&format!("/rhumb:{version}")), "{}", image.name);
    let ports: Vec<&str> = image.object("/config/ExposedPorts").keys().map(String::as_str).collect();
    assert_eq!(ports, ["53/tcp", "53/udp", "8080/tcp", "8181/tcp", "9153/tcp"]);

    assert_eq!(
        image.members(),
        [
            "lrwxrwxrwx 0/0 coredns -> rhumb",
            "drwxr-xr-x 0/0 etc/",
            "-rw-r--r-- 0/0 etc/group",
            "-rw-r--r-- 0/0 etc/nsswitch.conf",
            "-rw-r--r-- 0/0 etc/passwd",
            "drwxr-xr-x 0/0 etc/ssl/",
            "drwxr-xr-x 0/0 etc/ssl/certs/",
            "-rw-r--r-- 0/0 etc/ssl/certs/ca-certificates.crt",
            "-rwxr-xr-x 0/0 rhumb",
            "drwxrwxrwt 0/0 tmp/",
        ]
    );
    let root = image.unpack();
    let certificates = std::fs::read_to_string(root.join("etc/ssl/certs/ca-certificates.crt")).unwrap();
    let count = certificates.matches("-----BEGIN CERTIFICATE-----").count();
    assert!(count > 100, "{count} certificates");
    assert_eq!(certificates.matches("-----END CERTIFICATE-----").count(), count);
}

/// Independent of time and path.
#[test]
fn build_is_reproducible() {
    let Some(image) = image() else { return };
    let root = image.unpack();
    let folder = tempfile::tempdir().unwrap();
    let again = folder.path().join("again.tar");
    let label = |name: &str| text(&image.config, &format!("/config/Labels/org.opencontainers.image.{name}"));
    let certificates = folder.path().join("certificates");
    std::fs::create_dir(&certificates).unwrap();
    std::fs::copy(root.join("etc/ssl/certs/ca-certificates.crt"), certificates.join("all.crt")).unwrap();
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/oci-archive"))
        .current_dir(folder.path())
        .env("TZ", "Pacific/Auckland")
        .args([Path::new("--binary"), &root.join("rhumb")])
        .args([Path::new("--certificates"), &certificates, Path::new("--output"), &again])
        .args(["--name", &image.name, "--version", label("version"), "--revision", label("revision")])
        .args(["--architecture", text(&image.config, "/architecture"), "--epoch", &image.epoch()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let (first, second) = (std::fs::read(image.archive()).unwrap(), std::fs::read(&again).unwrap());
    assert!(first == second, "{} bytes, then {} others", first.len(), second.len());
}

/// With kubeadm's arguments and security context, our Corefile and roles, and a real API server.
#[test]
fn serves_a_cluster_like_in_a_kubelet() {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    let (Some(image), Some(sandbox)) = (image(), sandbox()) else { return };
    let pod = Pod::start(&sandbox);
    let container = Container::start(&image, &sandbox, &pod.mounts(), &pod.environment());

    for (port, path, expected) in
        [(8181, "/ready", "OK"), (8080, "/health", "OK"), (9153, "/metrics", "coredns_build_info")]
    {
        container.wait_until(&format!("{port}{path}"), || {
            sandbox.get(port, path).is_some_and(|answer| answer.contains(expected))
        });
    }
    for (name, expected) in [
        ("kubernetes.default.svc.cluster.local.", Ipv4Addr::new(10, 96, 0, 1)),
        ("kube-dns.kube-system.svc.cluster.local.", Ipv4Addr::new(10, 96, 0, 10)),
        ("www.example.org.", Ipv4Addr::new(192, 0, 2, 1)),
    ] {
        for transport in [Transport::Udp, Transport::Tcp] {
            assert_eq!(sandbox.addresses(name, transport), [expected], "{name} {transport:?}");
        }
    }

    // The effect of `drop: [ALL]`, `add: [NET_BIND_SERVICE]` and `allowPrivilegeEscalation: false`.
    let ids = format!("{NONROOT}\t{NONROOT}\t{NONROOT}\t{NONROOT}");
    let net_bind_service = "0000000000000400";
    let nothing = "0000000000000000";
    for (field, expected) in [
        ("Uid", ids.as_str()),
        ("Gid", &ids),
        ("NoNewPrivs", "1"),
        ("CapInh", nothing),
        ("CapPrm", net_bind_service),
        ("CapEff", net_bind_service),
        ("CapBnd", net_bind_service),
        ("CapAmb", nothing),
    ] {
        assert_eq!(container.status(field), expected, "{field}");
    }
    assert!(container.status("NSpid").ends_with("\t1"), "no first process: {}", container.status("NSpid"));
    assert!(container.root_is_read_only());

    // After TERM it serves for the Corefile's five seconds of lameduck, then exits with 0.
    let asked = Instant::now();
    container.signal(Signal::TERM);
    container.wait_for_line("lameduck mode for 5s");
    assert!(sandbox.answers("kubernetes.default.svc.cluster.local."), "{}", container.output());
    let code = container.wait(Duration::from_secs(15));
    let took = asked.elapsed();
    let output = container.output();
    assert_eq!(code, Some(0), "{output}");
    assert!((Duration::from_secs(5)..Duration::from_secs(10)).contains(&took), "{took:?}\n{output}");
    assert!(!output.contains("[ERROR]") && !output.contains("[WARNING]"), "{output}");
}

/// Only the file capability of the binary permits port 53. Without it the server cannot listen, which also shows that
/// the sandbox itself does not grant it.
#[test]
fn cannot_listen_without_its_file_capability() {
    let (Some(image), Some(sandbox)) = (image(), sandbox()) else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("Corefile"), ".:53 {\n whoami\n}\n").unwrap();
    let mounts = [Mount::new(folder.path(), "etc/coredns")];

    let container = Container::start(&image, &sandbox, &mounts, &[]);
    container.wait_until("whoami answers", || sandbox.answers("x.example."));
    container.signal(Signal::TERM);
    assert_eq!(container.wait(Duration::from_secs(10)), Some(0), "{}", container.output());

    let without = |root: &PathBuf| {
        assert!(Command::new("setcap").arg("-r").arg(root.join("rhumb")).status().unwrap().success());
    };
    let container = Container::start_changed(&image, without, &sandbox, &mounts, &[]);
    assert_eq!(container.wait(Duration::from_secs(10)), Some(1), "{}", container.output());
    assert!(container.output().contains("permission denied"), "{}", container.output());
}

/// In a root without a loader, a shell or any library, and under the path in CoreDNS's image.
#[test]
fn binary_is_self_contained() {
    let Some(image) = image() else { return };
    let root = image.unpack();
    for name in ["/rhumb", "/coredns"] {
        let output = Command::new("chroot").arg(&root).args([name, "-version"]).output().unwrap();
        if !output.status.success() && !rustix::process::geteuid().is_root() {
            let _: Option<()> = skip("chroot is for root");
            return;
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(concat!("Rhumb-", env!("CARGO_PKG_VERSION"))), "{output:?}");
    }
}
