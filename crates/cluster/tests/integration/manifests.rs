//! A folder of manifests, watched through the public API.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::{Cluster, Kind, Source, Want, watch};

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn open(folder: &Path) -> Arc<Cluster> {
    let want = Want { kinds: vec![Kind::Namespace, Kind::Service, Kind::EndpointSlice], ..Want::default() };
    watch(&Source::Manifests(folder.to_owned()), &want).unwrap()
}

fn service(name: &str, ip: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{clusterIP: {ip}}}\n"
    )
}

fn is_at(cluster: &Cluster, ip: &str) -> bool {
    cluster.snapshot().holders(ip.parse().unwrap()).next().is_some()
}

#[tokio::test]
async fn a_folder_is_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yaml");
    std::fs::write(&file, service("web", "10.0.0.1")).unwrap();
    let cluster = open(folder.path());
    until("it is synced", || cluster.has_synced()).await;
    until("it is connected", || cluster.staleness().is_zero()).await;
    assert!(is_at(&cluster, "10.0.0.1"));
    assert!(
        cluster.snapshot().namespace(b"shop").is_some() && cluster.snapshot().namespace(b"default").is_none()
    );
    assert_eq!(cluster.snapshot().count(Kind::Service), 1);

    std::fs::write(&file, service("web", "10.0.0.2")).unwrap();
    until("the change is seen", || is_at(&cluster, "10.0.0.2")).await;
    assert!(!is_at(&cluster, "10.0.0.1"));
    // An error changes nothing; the change of another file shows when it was scanned.
    std::fs::write(&file, "kind: [").unwrap();
    std::fs::write(folder.path().join("db.yaml"), service("db", "10.0.0.3")).unwrap();
    until("the other file is seen", || is_at(&cluster, "10.0.0.3")).await;
    assert!(is_at(&cluster, "10.0.0.2"));
    std::fs::remove_file(&file).unwrap();
    until("the removal is seen", || !is_at(&cluster, "10.0.0.2")).await;
    assert!(is_at(&cluster, "10.0.0.3"));
}

#[tokio::test]
async fn losing_the_folder_keeps_the_data() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, away) = (parent.path().join("manifests"), parent.path().join("away"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("web.yaml"), service("web", "10.0.0.1")).unwrap();
    let cluster = open(&folder);
    until("it is synced", || cluster.has_synced()).await;
    until("it is connected", || cluster.staleness().is_zero()).await;
    std::fs::rename(&folder, &away).unwrap();
    until("it is stale", || !cluster.staleness().is_zero()).await;
    assert!(is_at(&cluster, "10.0.0.1"));
    std::fs::rename(&away, &folder).unwrap();
    until("it is connected", || cluster.staleness().is_zero()).await;
    assert!(is_at(&cluster, "10.0.0.1"));
}

#[tokio::test]
async fn equal_wants_share_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = open(folder.path());
    assert!(Arc::ptr_eq(&cluster, &open(folder.path())));
    let other = Want { zones: true, ..Want::default() };
    assert!(!Arc::ptr_eq(&cluster, &watch(&Source::Manifests(folder.path().to_owned()), &other).unwrap()));
}

#[test]
fn without_a_runtime_there_is_no_watch() {
    let folder = tempfile::tempdir().unwrap();
    let e = watch(&Source::Manifests(folder.path().to_owned()), &Want::default()).err().unwrap();
    assert!(e.to_string().contains("tokio"), "{e}");
}
