//! Each task of a watched folder panics while another thread reads snapshots all the time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cluster::{Kind, Source, Want, watch};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}\n{:#?}", LINES.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn service(name: &str, ip: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{clusterIP: {ip}}}\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn every_task_restarts() {
    supervise::install_hook();
    supervise::set_log(|line| LINES.lock().unwrap().push(line.to_owned()));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yaml");
    std::fs::write(&file, service("web", "10.0.0.1")).unwrap();
    let want = Want { kinds: vec![Kind::Namespace, Kind::Service], ..Want::default() };
    let cluster = watch(&Source::Manifests(folder.path().to_owned()), &want).unwrap();
    until("it is synced", || cluster.has_synced() && cluster.staleness().is_zero()).await;
    let (stop, witness) = (Arc::new(AtomicBool::new(false)), Arc::clone(&cluster));
    let stopped = Arc::clone(&stop);
    let witness = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            let snapshot = witness.snapshot();
            assert!(witness.has_synced() && snapshot.namespace(b"shop").is_some());
            assert!(snapshot.entry(b"\x03web\x04shop").is_some_and(|entry| entry.service.is_some()));
        }
    });
    for (n, task) in ["cluster-writer", "cluster-manifests", "cluster-manifests-scan"].into_iter().enumerate()
    {
        println!("{task}");
        supervise::inject::arm(task, 2);
        let ip = format!("10.0.1.{n}");
        std::fs::write(&file, service("web", "10.0.0.1") + &service("new", &ip)).unwrap();
        until("it panicked", || !supervise::inject::is_armed(task)).await;
        let address = ip.parse().unwrap();
        until("the change is seen", || cluster.snapshot().holders(address).next().is_some()).await;
        until("it is current", || cluster.staleness().is_zero()).await;
        assert_eq!(supervise::panics(task), 2, "{task}");
        if task != "cluster-manifests-scan" {
            let start = format!("task {task}: panic at crates/supervise/src/inject.rs:");
            let lines = LINES.lock().unwrap();
            assert_eq!(lines.iter().filter(|line| line.starts_with(&start)).count(), 2, "{lines:#?}");
        }
    }
    stop.store(true, Ordering::Relaxed);
    witness.join().expect("nothing is ever missing");
}
