//! A scripted API server: every request waits until the test responds to it.

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

use kube_api::message::{AnnotatedObject, List, ListMeta, Status, WatchEvent, wrap};

use crate::message::ApiObject;
use crate::object::Kind;

/// Far beyond the duration of any step, so that a hung test fails where it hangs.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// The end of a census's URI.
pub(super) const CHECK: &str = "?limit=1";

pub(super) struct Server {
    pub url: String,
    requests: mpsc::UnboundedReceiver<PendingRequest>,
    accepted: Arc<Mutex<Vec<Weak<Socket>>>>,
    listening: tokio::task::AbortHandle,
}

/// A request that waits for its response; dropping it breaks the connection.
pub(super) struct PendingRequest {
    pub uri: String,
    pub accept: String,
    answer: oneshot::Sender<Response<Pieces>>,
}

/// The body of a response, piece by piece.
pub(super) struct Pieces(mpsc::UnboundedReceiver<io::Result<Bytes>>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

impl Server {
    /// A server that does not report its version, and so counts as an old one.
    pub(super) async fn start() -> Self {
        Self::start_at(None).await
    }

    /// A server of version 1.`minor`.
    pub(super) async fn start_at(minor: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = mpsc::unbounded_channel();
        let accepted = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::clone(&accepted);
        let serve = async move {
            while let Ok((stream, _)) = listener.accept().await {
                let socket: Arc<Socket> = Arc::new(stream.as_fd().try_clone_to_owned().unwrap().into());
                connections.lock().unwrap().push(Arc::downgrade(&socket));
                let sender = sender.clone();
                let service = service_fn(move |request| {
                    // Dropped with the connection, which it would keep open otherwise.
                    let _socket = &socket;
                    answer(request, sender.clone(), minor)
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        };
        Self { url, requests, accepted, listening: tokio::spawn(serve).abort_handle() }
    }

    /// The next request, whose URI must contain all of `expected`.
    pub(super) async fn request(&mut self, expected: &[&str]) -> PendingRequest {
        let waiting = timeout(DEADLINE, self.requests.recv()).await;
        let request = waiting.unwrap_or_else(|_| panic!("no request for {expected:?}")).unwrap();
        for part in expected {
            assert!(request.uri.contains(part), "{} should contain {part}", request.uri);
        }
        request
    }
}

/// The response to a census: the number of objects, and at which version.
pub(super) type ServerCount = (u64, &'static str);

impl Server {
    /// The next request that is no census; responds to censuses before it.
    pub(super) async fn request_beside_checks(
        &mut self,
        census: ServerCount,
        expected: &[&str],
    ) -> PendingRequest {
        loop {
            let request = self.request(&[]).await;
            if !request.uri.ends_with(CHECK) {
                let missing = expected.iter().find(|part| !request.uri.contains(**part));
                assert_eq!(missing, None, "{}", request.uri);
                return request;
            }
            request.answer_check(census);
        }
    }

    /// Drops all further packets of the accepted connections, silently.
    pub(super) fn drop_packets(&self) {
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
    sender: mpsc::UnboundedSender<PendingRequest>,
    minor: Option<&'static str>,
) -> Result<Response<Pieces>, io::Error> {
    match request.uri().path() {
        "/version" => return Ok(version(minor)),
        // It has no aggregated discovery.
        "/apis" => return Ok(version(None)),
        _ => {}
    }
    let (answer, answered) = oneshot::channel();
    let accept =
        request.headers().get("accept").and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
    let request = PendingRequest { uri: request.uri().to_string(), accept, answer };
    sender.send(request).map_err(|_| io::Error::other("the test is over"))?;
    answered.await.map_err(|_| io::Error::other("the test does not respond"))
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

impl PendingRequest {
    /// Responds with status 200 and returns the stream of the body.
    pub(super) fn stream(self) -> Stream {
        self.begin(200)
    }

    pub(super) fn refuse(self, status: u16, message: &str) {
        let status_message =
            Status { message: message.to_owned(), code: i32::from(status), ..Status::default() };
        self.begin(status).bytes(wrap(status_message.encode_to_vec()));
    }

    pub(super) fn json(self, value: &Value) {
        self.json_stream().bytes(value.to_string().into());
    }

    pub(super) fn json_refusal(self, code: u16, status: &Value) {
        self.begin_as(code, Some("application/json")).bytes(status.to_string().into());
    }

    /// Like [`PendingRequest::stream`], for events in JSON.
    pub(super) fn json_stream(self) -> Stream {
        self.begin_as(200, Some("application/json"))
    }

    pub(super) fn page(self, objects: &[ApiObject], version: &str, next: &str) {
        self.page_of(objects, version, next, None);
    }

    /// Responds to a census with the first of `count` objects.
    pub(super) fn answer_check(self, (count, version): ServerCount) {
        let first = [service("first", "10.0.0.1", 1)];
        match count {
            0 => self.page(&[], version, ""),
            1 => self.page(&first, version, ""),
            _ => self.page_of(&first, version, "more", Some(count as i64 - 1)),
        }
    }

    fn page_of(self, objects: &[ApiObject], version: &str, next: &str, remaining_item_count: Option<i64>) {
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
        // The client may have closed the connection.
        let _ = self.answer.send(response);
        Stream(pieces)
    }
}

/// The server's side of a watch; dropping it ends the watch normally.
pub(super) struct Stream(mpsc::UnboundedSender<io::Result<Bytes>>);

impl Stream {
    pub(super) fn bytes(&self, bytes: Bytes) {
        let _ = self.0.send(Ok(bytes));
    }

    pub(super) fn added(&self, object: &ApiObject) {
        self.event("ADDED", encode(object));
    }

    pub(super) fn modified(&self, object: &ApiObject) {
        self.event("MODIFIED", encode(object));
    }

    pub(super) fn deleted(&self, object: &ApiObject) {
        self.event("DELETED", encode(object));
    }

    /// An event in JSON.
    pub(super) fn json(&self, kind: &str, object: &Value) {
        self.bytes(format!("{}\n", json!({"type": kind, "object": object})).into());
    }

    pub(super) fn bookmark(&self, version: &str) {
        self.event("BOOKMARK", AnnotatedObject::new(version, &[]).encode_to_vec());
    }

    /// The bookmark that ends a list.
    pub(super) fn list_ends(&self, version: &str) {
        let annotated = AnnotatedObject::new(version, &[("k8s.io/initial-events-end", "true")]);
        self.event("BOOKMARK", annotated.encode_to_vec());
    }

    pub(super) fn error(&self, code: i32, reason: &str) {
        let status =
            Status { message: "no".to_owned(), reason: reason.to_owned(), code, ..Status::default() };
        self.event("ERROR", status.encode_to_vec());
    }

    pub(super) fn event(&self, kind: &str, object: Vec<u8>) {
        let event = WatchEvent::new(kind, object).encode_to_vec();
        let mut frame = u32::try_from(event.len()).unwrap().to_be_bytes().to_vec();
        frame.extend(event);
        // In two pieces, as a network may deliver it.
        let rest = frame.split_off(frame.len() / 2);
        self.bytes(frame.into());
        self.bytes(rest.into());
    }

    /// Breaks the connection in the middle of the stream.
    pub(super) fn break_connection(self) {
        let _ = self.0.send(Err(io::Error::other("unplugged")));
    }

    /// Whether the client closes the connection before the deadline.
    pub(super) async fn closed_by_client(&self) -> bool {
        timeout(DEADLINE, self.0.closed()).await.is_ok()
    }
}

pub(super) fn encode(object: &ApiObject) -> Vec<u8> {
    match object {
        ApiObject::Namespace(it) => it.encode_to_vec(),
        ApiObject::Service(it) => it.encode_to_vec(),
        ApiObject::EndpointSlice(it) => it.encode_to_vec(),
        ApiObject::Pod(it) => it.encode_to_vec(),
        ApiObject::ServiceImport(_) => panic!("ServiceImports have no protobuf"),
    }
}

/// `shop/NAME` with a cluster IP, at a resource version.
pub(super) fn service(name: &str, ip: &str, version: u32) -> ApiObject {
    let metadata = json!({"name": name, "namespace": "shop", "resourceVersion": version.to_string()});
    ApiObject::deserialize(Kind::Service, json!({"metadata": metadata, "spec": {"clusterIP": ip}})).unwrap()
}

pub(super) fn pod(name: &str, ip: &str, version: u32, terminating: bool) -> ApiObject {
    let mut metadata = json!({"name": name, "namespace": "shop", "resourceVersion": version.to_string()});
    if terminating {
        metadata["deletionTimestamp"] = json!("2026-11-15T12:00:00Z");
    }
    ApiObject::deserialize(Kind::Pod, json!({"metadata": metadata, "status": {"podIPs": [{"ip": ip}]}}))
        .unwrap()
}
