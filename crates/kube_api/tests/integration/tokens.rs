//! Tokens that are replaced while watches run.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use cluster::resources::Service;
use kube_api::{ApiServer, ClusterId, Limits, Login, Scope};
use tokio::runtime::Handle;

use super::live::{Collector, Seen, account, audit, service, start, until};

/// How long a token is accepted.
const VALID: Duration = Duration::from_secs(5);
/// Often, so that requests follow the end of each token at once.
const CENSUS: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_rotated_under_way_cost_nothing() {
    let Some(server) = start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = account(&server, folder.path(), "");
    let signer = server.signer("default", "watcher").unwrap();
    let rotate = || {
        let token = signer.token(SystemTime::now() + VALID).unwrap();
        let next = folder.path().join("next");
        std::fs::write(&next, token).unwrap();
        std::fs::rename(next, folder.path().join("token")).unwrap();
    };
    rotate();
    let limits = Limits { census_interval: CENSUS, ..Limits::default() };
    let login = Login::Kubeconfig { file, context: None };
    let api = ApiServer::start(&ClusterId::new("rotated"), login, limits, &Handle::current()).unwrap();
    let published = Arc::new(Mutex::new(Seen::default()));
    let collector = Arc::clone(&published);
    let _subscription =
        api.subscribe(move |_| Collector::new(&collector)).to::<Service>(Scope::all()).start();
    let seen = || published.lock().unwrap().clone();
    until("it is synced", || seen().lists == 1).await;
    let end = Instant::now() + 3 * VALID;
    let mut number = 0;
    while Instant::now() < end {
        // Before the end of the last one, as kubelet does.
        rotate();
        for _ in 0..6 {
            number += 1;
            service(&server, &format!("web-{number}"));
            tokio::time::sleep(CENSUS).await;
        }
    }
    until("nothing is lost", || seen().services.len() == number + 1).await;
    assert_eq!(seen().lists, 1, "nothing is relisted");
    let ours =
        |event: &serde_json::Value| event["userAgent"].as_str().is_some_and(|it| it.starts_with("rhumb/"));
    let requests: Vec<_> = audit(&server).into_iter().filter(ours).collect();
    let watches =
        requests.iter().filter(|it| it["verb"] == "watch" && it["stage"] == "ResponseStarted").count();
    let refused = requests.iter().filter(|it| it["responseStatus"]["code"] == 401).count();
    println!("{} requests, {refused} refused and repeated, {watches} watch", requests.len());
    assert_eq!(watches, 1, "the watch goes on");
}
