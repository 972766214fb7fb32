//! Many clusters in one process, against a fake: one TLS listener of this process, which is a cluster at each loopback
//! address.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube_api::{
    ApiServer, ClusterId, Config, Consumer, Credentials, Encoding, Limits, ObjectMeta, Occasion, RawObject,
    Resource, Scope, Subscriber, Version,
};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use serde_json::json;
use testkit::certificate::Authority;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio_rustls::TlsAcceptor;

const NAME: &str = "api.example";

/// Number of clusters that start together.
const WAVE: usize = 50;

macro_rules! kinds {
    ($($kind:ident $plural:literal),*) => {
        const PLURALS: &[&str] = &[$($plural),*];

        $(
            #[derive(Deserialize)]
            struct $kind {
                metadata: ObjectMeta,
            }

            impl Resource for $kind {
                const GROUP: &'static str = "example.com";
                const VERSIONS: &'static [&'static str] = &["v1"];
                const KIND: &'static str = stringify!($kind);
                const PLURAL: &'static str = $plural;
                const ENCODING: Encoding = Encoding::Json;

                fn decode(object: &RawObject) -> Result<Self, String> {
                    object.json()
                }

                fn meta(&self) -> &ObjectMeta {
                    &self.metadata
                }
            }

            impl Consumer<$kind> for Counter {
                fn list_begins(&mut self) {}
                fn apply(&mut self, _: &$kind, _: Version, _: Occasion) {}
                fn delete(&mut self, _: &$kind) {}
                fn list_ends(&mut self) {
                    self.0.fetch_add(1, Ordering::SeqCst);
                }
            }
        )*

        fn subscribe(server: &Arc<ApiServer>, synced: &Arc<AtomicUsize>) -> kube_api::Subscription {
            let synced = Arc::clone(synced);
            let subscribing = server.subscribe(move |_| Counter(Arc::clone(&synced)));
            $(let subscribing = subscribing.to::<$kind>(Scope::all());)*
            subscribing.start()
        }
    };
}

kinds!(
    One "ones", Two "twos", Three "threes", Four "fours", Five "fives", Six "sixes", Seven "sevens", Eight "eights",
    Nine "nines", Ten "tens"
);

/// Counts complete lists.
struct Counter(Arc<AtomicUsize>);

impl Subscriber for Counter {}

/// A cluster of the fake.
struct Scripted {
    address: SocketAddr,
    authority: Vec<u8>,
}

impl Credentials for Scripted {
    fn load(&self) -> Result<Config, String> {
        let mut config =
            Config::new(format!("https://{}", self.address).parse().map_err(|e| format!("{e}"))?);
        config.root_cert = Some(vec![self.authority.clone()]);
        config.tls_server_name = Some(NAME.to_owned());
        Ok(config)
    }
}

/// Open and most sockets, by the address of the cluster.
type Sockets = Arc<Mutex<BTreeMap<IpAddr, (usize, usize)>>>;

/// The fake API servers.
struct Fake {
    port: u16,
    authority: Vec<u8>,
    sockets: Sockets,
    watches: Arc<AtomicUsize>,
}

impl Fake {
    async fn start() -> Self {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let authority = Authority::new("fake").unwrap();
        let issued = authority.issue(&[NAME]).unwrap();
        let chain = CertificateDer::pem_slice_iter(issued.cert.as_bytes()).collect::<Result<_, _>>().unwrap();
        let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
        let mut tls = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sockets, watches) = (Sockets::default(), Arc::new(AtomicUsize::new(0)));
        let (counted, watched) = (Arc::clone(&sockets), Arc::clone(&watches));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let cluster = stream.local_addr().unwrap().ip();
                let (acceptor, watched) = (acceptor.clone(), Arc::clone(&watched));
                let open = OpenSocket::new(&counted, cluster);
                tokio::spawn(async move {
                    let _open = open;
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(move |request| answer(request, Arc::clone(&watched)));
                    let serving = http2::Builder::new(TokioExecutor::new());
                    let _ = serving.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        let authority = CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap().to_vec();
        Self { port, authority, sockets, watches }
    }

    fn cluster(&self, number: usize) -> Scripted {
        let [.., high, low] = u32::try_from(number).unwrap().to_be_bytes();
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 1, high, low)), self.port);
        Scripted { address, authority: self.authority.clone() }
    }
}

struct OpenSocket(Sockets, IpAddr);

impl OpenSocket {
    fn new(sockets: &Sockets, cluster: IpAddr) -> Self {
        let mut all = sockets.lock().unwrap();
        let (open, most) = all.entry(cluster).or_default();
        *open += 1;
        *most = (*most).max(*open);
        Self(Arc::clone(sockets), cluster)
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        self.0.lock().unwrap().entry(self.1).or_default().0 -= 1;
    }
}

/// One piece; the body of a watch does not end.
struct Piece {
    bytes: Option<Bytes>,
    ends: bool,
}

impl hyper::body::Body for Piece {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.bytes.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None if self.ends => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    watches: Arc<AtomicUsize>,
) -> Result<Response<Piece>, Infallible> {
    const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let uri = request.uri().to_string();
    let body = |value: serde_json::Value| Piece { bytes: Some(value.to_string().into()), ends: true };
    let response = Response::builder().header(CONTENT_TYPE, "application/json");
    let response = if uri.ends_with("/version") {
        response.body(body(json!({"major": "1", "minor": "36"})))
    } else if uri.ends_with("/apis") {
        let response = Response::builder().header(CONTENT_TYPE, DISCOVERY).header(ETAG, "\"1\"");
        if request.headers().contains_key(IF_NONE_MATCH) {
            response.status(StatusCode::NOT_MODIFIED).body(Piece { bytes: None, ends: true })
        } else {
            let resources: Vec<_> = PLURALS.iter().map(|it| json!({"resource": it})).collect();
            let versions = json!([{"version": "v1", "resources": resources}]);
            response
                .body(body(json!({"items": [{"metadata": {"name": "example.com"}, "versions": versions}]})))
        }
    } else if uri.contains("watch=true") {
        watches.fetch_add(1, Ordering::SeqCst);
        let bookmark = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}});
        response.body(Piece { bytes: Some(format!("{bookmark}\n").into()), ends: false })
    } else {
        let item = json!({"metadata": {"name": "one", "namespace": "shop", "resourceVersion": "3"}});
        response.body(body(json!({"metadata": {"resourceVersion": "5"}, "items": [item]})))
    };
    Ok(response.unwrap())
}

/// A number from `/proc/self/status`.
fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

async fn run(clusters: usize) -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    kube_api::set_logger(|level, line| {
        if level != kube_api::Level::Info {
            println!("{line}");
        }
    });
    let fake = Fake::start().await;
    // Whatever is loaded once is not counted as part of a cluster.
    let synced = Arc::new(AtomicUsize::new(0));
    let mut open = Vec::new();
    let mut start = |number: usize| {
        let id = ClusterId::new(&format!("cluster-{number}"));
        let server =
            ApiServer::start(&id, fake.cluster(number), Limits::default(), &Handle::current()).unwrap();
        open.push(subscribe(&server, &synced));
    };
    start(0);
    until(&synced, PLURALS.len()).await;
    let (memory, threads, began) = (status("VmRSS"), status("Threads"), Instant::now());
    let kinds = PLURALS.len() * (clusters + 1);
    // In waves: all handshakes at once would take a debug build longer than a response may take.
    for number in 1..=clusters {
        start(number);
        if number % WAVE == 0 || number == clusters {
            until(&fake.watches, PLURALS.len() * (number + 1)).await;
        }
    }
    until(&synced, kinds).await;
    let elapsed = began.elapsed();
    // A discovery poll later, nothing has changed.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (memory, more_threads) = (status("VmRSS").saturating_sub(memory), status("Threads") - threads);
    let sockets: Vec<(usize, usize)> = fake.sockets.lock().unwrap().values().copied().collect();
    let most = sockets.iter().map(|(_, most)| *most).max().unwrap();
    let now: usize = sockets.iter().map(|(open, _)| open).sum();
    assert_eq!(synced.load(Ordering::SeqCst), kinds, "nothing is relisted");
    assert_eq!(fake.watches.load(Ordering::SeqCst), kinds, "no watch is repeated");
    assert!(most <= 2, "{most} sockets of one cluster");
    let each = memory / clusters as u64;
    // With the fake's side of each connection, in a debug build.
    assert!(each < 1500, "{each} kB per cluster");
    assert!(more_threads < 64, "{more_threads} more threads");
    format!(
        "{clusters} clusters, {} kinds each: synced and watching in {:.1} s; sockets: {now} open, at most {most} of one \
         cluster; memory: {each} kB per idle cluster, both ends; threads: {threads} with one cluster, {more_threads} more \
         with all",
        PLURALS.len(),
        elapsed.as_secs_f64(),
    )
}

async fn until(counter: &AtomicUsize, number: usize) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while counter.load(Ordering::SeqCst) < number {
        assert!(Instant::now() < deadline, "{} of {number}", counter.load(Ordering::SeqCst));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clusters_share_little() {
    println!("{}", run(1000).await);
}
