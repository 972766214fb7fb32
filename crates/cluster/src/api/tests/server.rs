//! An API server that does what the test says: every request waits until the test has answered it.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use prost::Message;
use serde_json::{Value, json};
use socket2::{SockFilter, Socket};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::api::message::{Annotated, List, ListMeta, Raw, Status, WatchEvent, wrap};
use crate::object::Kind;

/// Far beyond what anything here takes, so that a test that hangs says where.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// How the address of a check ends.
pub(super) const CHECK: &str = "?limit=1";

pub(super) struct Server {
    pub url: String,
    asked: mpsc::UnboundedReceiver<Asked>,
    accepted: Arc<Mutex<Vec<Weak<Socket>>>>,
    listening: tokio::task::AbortHandle,
}

/// A request that waits for its answer; the connection breaks if it gets none.
pub(super) struct Asked {
    pub address: String,
    pub accept: String,
    answer: oneshot::Sender<Response<Pieces>>,
}

/// The body of an answer, as it is sent.
pub(super) struct Pieces(mpsc::UnboundedReceiver<io::Result<Bytes>>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

impl Server {
    /// One that does not say how old it is, and so is taken for an old one.
    pub(super) async fn start() -> Self {
        Self::start_at(None).await
    }

    /// One of version 1 and this.
    pub(super) async fn start_at(minor: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asking, asked) = mpsc::unbounded_channel();
        let accepted = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::clone(&accepted);
        let serve = async move {
            while let Ok((stream, _)) = listener.accept().await {
                let socket: Arc<Socket> = Arc::new(stream.as_fd().try_clone_to_owned().unwrap().into());
                connections.lock().unwrap().push(Arc::downgrade(&socket));
                let asking = asking.clone();
                let service = service_fn(move |request| {
                    // Ours ends with the connection, or that would not.
                    let _socket = &socket;
                    answer(request, asking.clone(), minor)
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        };
        Self { url, asked, accepted, listening: tokio::spawn(serve).abort_handle() }
    }

    /// The next request, which must be for an address that says all of `expected`.
    pub(super) async fn asked(&mut self, expected: &[&str]) -> Asked {
        let waiting = timeout(DEADLINE, self.asked.recv()).await;
        let asked = waiting.unwrap_or_else(|_| panic!("nobody asks for {expected:?}")).unwrap();
        for part in expected {
            assert!(asked.address.contains(part), "{} should say {part}", asked.address);
        }
        asked
    }
}

/// What checks are told, whenever they come: a count, and at which version.
pub(super) type Says = (u64, &'static str);

impl Server {
    /// The same for the next request that is no check; these are answered.
    pub(super) async fn asked_beside_checks(&mut self, says: Says, expected: &[&str]) -> Asked {
        loop {
            let asked = self.asked(&[]).await;
            if !asked.address.ends_with(CHECK) {
                let missing = expected.iter().find(|part| !asked.address.contains(**part));
                assert_eq!(missing, None, "{}", asked.address);
                return asked;
            }
            asked.counted(says);
        }
    }

    /// From now on nothing that comes on these connections is heard, and nobody is told.
    pub(super) fn goes_deaf(&self) {
        const DROP: u16 = 0x06;
        for connection in self.accepted.lock().unwrap().iter().filter_map(Weak::upgrade) {
            connection.attach_filter(&[SockFilter::new(DROP, 0, 0, 0)]).unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn answer(
    request: Request<Incoming>,
    asking: mpsc::UnboundedSender<Asked>,
    minor: Option<&'static str>,
) -> Result<Response<Pieces>, io::Error> {
    if request.uri() == "/version" {
        return Ok(version(minor));
    }
    let (answer, answered) = oneshot::channel();
    let accept =
        request.headers().get("accept").and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
    let asked = Asked { address: request.uri().to_string(), accept, answer };
    asking.send(asked).map_err(|_| io::Error::other("the test is over"))?;
    answered.await.map_err(|_| io::Error::other("the test does not answer"))
}

fn version(minor: Option<&str>) -> Response<Pieces> {
    let (sends, pieces) = mpsc::unbounded_channel();
    let mut response = Response::new(Pieces(pieces));
    match minor {
        Some(minor) => {
            let version = json!({"major": "1", "minor": minor, "gitVersion": "v1"});
            let _ = sends.send(Ok(version.to_string().into()));
        }
        None => *response.status_mut() = StatusCode::NOT_FOUND,
    }
    response
}

impl Asked {
    /// The head of a good answer, and a hand on what follows.
    pub(super) fn stream(self) -> Stream {
        self.begin(200)
    }

    pub(super) fn refuse(self, status: u16, message: &str) {
        let status_message =
            Status { message: message.to_owned(), reason: String::new(), code: i32::from(status) };
        self.begin(status).bytes(wrap(status_message.encode_to_vec()));
    }

    pub(super) fn json(self, value: &Value) {
        self.json_stream().bytes(value.to_string().into());
    }

    pub(super) fn json_refusal(self, code: u16, status: &Value) {
        self.begin_as(code, Some("application/json")).bytes(status.to_string().into());
    }

    /// Like [`Asked::stream`], for events in JSON.
    pub(super) fn json_stream(self) -> Stream {
        self.begin_as(200, Some("application/json"))
    }

    pub(super) fn page(self, objects: &[Raw], version: &str, next: &str) {
        self.page_of(objects, version, next, None);
    }

    /// The first of so many objects.
    pub(super) fn counted(self, (count, version): Says) {
        let first = [service("first", "10.0.0.1", 1)];
        match count {
            0 => self.page(&[], version, ""),
            1 => self.page(&first, version, ""),
            _ => self.page_of(&first, version, "more", Some(count as i64 - 1)),
        }
    }

    fn page_of(self, objects: &[Raw], version: &str, next: &str, remaining_item_count: Option<i64>) {
        let (resource_version, next) = (version.to_owned(), next.to_owned());
        let metadata = ListMeta { resource_version, next, remaining_item_count };
        let items = objects.iter().map(|raw| encode(raw).into()).collect();
        self.begin(200).bytes(wrap(List { metadata, items }.encode_to_vec()));
    }

    fn begin(self, status: u16) -> Stream {
        self.begin_as(status, None)
    }

    fn begin_as(self, status: u16, content_type: Option<&str>) -> Stream {
        let (pieces, receiver) = mpsc::unbounded_channel();
        let mut response = Response::builder().status(status);
        if let Some(content_type) = content_type {
            response = response.header("content-type", content_type);
        }
        let response = response.body(Pieces(receiver)).unwrap();
        // Nobody may wait for it any more.
        let _ = self.answer.send(response);
        Stream(pieces)
    }
}

/// A watch from the server's side; dropped, it ends as watches do.
pub(super) struct Stream(mpsc::UnboundedSender<io::Result<Bytes>>);

impl Stream {
    pub(super) fn bytes(&self, bytes: Bytes) {
        let _ = self.0.send(Ok(bytes));
    }

    pub(super) fn added(&self, object: &Raw) {
        self.event("ADDED", encode(object));
    }

    pub(super) fn modified(&self, object: &Raw) {
        self.event("MODIFIED", encode(object));
    }

    pub(super) fn deleted(&self, object: &Raw) {
        self.event("DELETED", encode(object));
    }

    /// An event in JSON.
    pub(super) fn json(&self, kind: &str, object: &Value) {
        self.bytes(format!("{}\n", json!({"type": kind, "object": object})).into());
    }

    pub(super) fn bookmark(&self, version: &str) {
        self.event("BOOKMARK", Annotated::new(version, &[]).encode_to_vec());
    }

    /// The bookmark that ends a list.
    pub(super) fn list_ends(&self, version: &str) {
        let annotated = Annotated::new(version, &[("k8s.io/initial-events-end", "true")]);
        self.event("BOOKMARK", annotated.encode_to_vec());
    }

    pub(super) fn error(&self, code: i32, reason: &str) {
        let status = Status { message: "no".to_owned(), reason: reason.to_owned(), code };
        self.event("ERROR", status.encode_to_vec());
    }

    pub(super) fn event(&self, kind: &str, object: Vec<u8>) {
        let event = WatchEvent::new(kind, object).encode_to_vec();
        let mut frame = u32::try_from(event.len()).unwrap().to_be_bytes().to_vec();
        frame.extend(event);
        // In two pieces, as networks do.
        let rest = frame.split_off(frame.len() / 2);
        self.bytes(frame.into());
        self.bytes(rest.into());
    }

    /// Takes the connection away in the middle of it.
    pub(super) fn breaks(self) {
        let _ = self.0.send(Err(io::Error::other("unplugged")));
    }

    /// Whether the other side has hung up.
    pub(super) async fn hung_up(&self) -> bool {
        timeout(DEADLINE, self.0.closed()).await.is_ok()
    }
}

pub(super) fn encode(object: &Raw) -> Vec<u8> {
    match object {
        Raw::Namespace(it) => it.encode_to_vec(),
        Raw::Service(it) => it.encode_to_vec(),
        Raw::EndpointSlice(it) => it.encode_to_vec(),
        Raw::Pod(it) => it.encode_to_vec(),
        Raw::ServiceImport(_) => panic!("ServiceImports have no protobuf"),
    }
}

/// `shop/NAME` at a cluster IP, at some version.
pub(super) fn service(name: &str, ip: &str, version: u32) -> Raw {
    let metadata = json!({"name": name, "namespace": "shop", "resourceVersion": version.to_string()});
    Raw::deserialize(Kind::Service, json!({"metadata": metadata, "spec": {"clusterIP": ip}})).unwrap()
}

pub(super) fn pod(name: &str, ip: &str, version: u32, terminating: bool) -> Raw {
    let mut metadata = json!({"name": name, "namespace": "shop", "resourceVersion": version.to_string()});
    if terminating {
        metadata["deletionTimestamp"] = json!("2026-11-15T12:00:00Z");
    }
    Raw::deserialize(Kind::Pod, json!({"metadata": metadata, "status": {"podIPs": [{"ip": ip}]}})).unwrap()
}
