use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use prost::Message;
use serde_json::json;

use super::ScriptedApi;
use super::message as m;
use super::request::{Request, read};
use crate::cluster::objects::{Object, Resource};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const SLICES: &str = "/apis/discovery.k8s.io/v1/endpointslices";

fn slice(name: &str, address: &str) -> Object {
    let body = json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": "db"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": true}, "hostname": "db-0"}],
        "ports": [{"name": "sql", "protocol": "TCP", "port": 5432}],
    });
    Object::new(Resource::EndpointSlice, "shop", name, body)
}

/// Sends a request and returns head and body of the response; with `to_the_end` a watch until it ends.
fn ask(api: &ScriptedApi, target: &str, accept: &str, to_the_end: bool) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(api.addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\n\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    let (mut head, mut body) = (String::new(), Vec::new());
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "connection closed in the head");
    }
    match head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
        Some(length) => {
            body.resize(length.parse().unwrap(), 0);
            reader.read_exact(&mut body).unwrap();
        }
        None if to_the_end => drop(reader.read_to_end(&mut body).unwrap()),
        None => {}
    }
    (head, body)
}

fn unwrap(bytes: &[u8]) -> m::Unknown {
    m::Unknown::decode(bytes.strip_prefix(b"k8s\0").unwrap()).unwrap()
}

/// The events in a chunked body, as far as it goes: kind, version, first address.
fn events(mut body: &[u8]) -> Vec<(String, String, String)> {
    let mut plain = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        plain.extend_from_slice(&body[end + 2..end + 2 + length]);
        body = &body[end + 2 + length + 2..];
    }
    let (mut rest, mut events) = (plain.as_slice(), Vec::new());
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let (frame, tail) = tail.split_at(u32::from_be_bytes(*length) as usize);
        rest = tail;
        let event = m::WatchEvent::decode(frame).unwrap();
        let unknown = unwrap(&event.object.raw);
        assert_eq!(unknown.type_meta.kind, "EndpointSlice");
        let slice = m::EndpointSlice::decode(unknown.raw.as_slice()).unwrap();
        let address = slice.endpoints.first().map(|endpoint| endpoint.addresses[0].clone());
        events.push((event.kind, slice.metadata.resource_version, address.unwrap_or_default()));
    }
    events
}

#[test]
fn requests() {
    let list = |limit, from| Request::List { limit, from };
    for (target, expected) in [
        ("/api/v1/services", Some((Resource::Service, list(None, 0)))),
        (
            "/api/v1/pods?fieldSelector=x&limit=500&continue=1000",
            Some((Resource::Pod, list(Some(500), 1000))),
        ),
        ("/api/v1/namespaces?limit=0", Some((Resource::Namespace, list(None, 0)))),
        (
            "/api/v1/services?watch=true&resourceVersion=12",
            Some((Resource::Service, Request::Watch { version: 12 })),
        ),
        (
            "/apis/discovery.k8s.io/v1/endpointslices?sendInitialEvents=true&watch=1",
            Some((Resource::EndpointSlice, Request::Stream)),
        ),
        ("/api/v1/secrets", None),
        ("/version", None),
    ] {
        assert_eq!(read(target), expected, "{target}");
    }
}

#[test]
fn lists_have_pages() {
    let api = ScriptedApi::start(["a", "b", "c"].map(|name| slice(name, "10.0.0.1"))).unwrap();
    let mut names = Vec::new();
    for (asked, next) in [("?limit=2", "2"), ("?limit=2&continue=2", "")] {
        let (head, body) = ask(&api, &format!("{SLICES}{asked}"), PROTOBUF, false);
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        let unknown = unwrap(&body);
        assert_eq!(unknown.type_meta.kind, "EndpointSliceList");
        let list = m::List::decode(unknown.raw.as_slice()).unwrap();
        assert_eq!((list.metadata.resource_version.as_str(), list.metadata.next.as_str()), ("3", next));
        names.extend(list.items.iter().map(|item| {
            let slice = m::EndpointSlice::decode(item.as_slice()).unwrap();
            assert_eq!(slice.metadata.labels["kubernetes.io/service-name"], "db");
            assert_eq!(slice.ports[0].port, Some(5432));
            slice.metadata.name
        }));
    }
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn streamed_list_sends_objects_then_changes() {
    let api = ScriptedApi::start([slice("a", "10.0.0.1")]).unwrap();
    let target = format!("{SLICES}?watch=true&sendInitialEvents=true");
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| ask(&api, &target, PROTOBUF, true));
        let deadline = Instant::now() + Duration::from_secs(10);
        while api.watchers(Resource::EndpointSlice) == 0 {
            assert!(Instant::now() < deadline && !watching.is_finished());
            std::thread::sleep(Duration::from_millis(1));
        }
        api.apply(&slice("a", "10.0.0.2"));
        api.apply(&slice("b", "10.0.0.3"));
        api.store.close_watches();
        let (head, body) = watching.join().unwrap();
        assert!(head.contains("stream=watch"), "{head}");
        let expected = [
            ("ADDED", "1", "10.0.0.1"),
            ("BOOKMARK", "1", ""),
            ("MODIFIED", "2", "10.0.0.2"),
            ("ADDED", "3", "10.0.0.3"),
        ];
        assert_eq!(
            events(&body),
            expected.map(|(kind, version, address)| (kind.into(), version.into(), address.into()))
        );
    });
}

#[test]
fn unsupported_requests_are_refused() {
    let api = ScriptedApi::start([slice("a", "10.0.0.1"), slice("b", "10.0.0.1")]).unwrap();
    for (target, accept, status) in [
        ("/api/v1/secrets", PROTOBUF, "404"),
        (SLICES, "application/json", "406"),
        (&format!("{SLICES}?watch=true&resourceVersion=1"), PROTOBUF, "410"),
        (&format!("{SLICES}?watch=true&resourceVersion=2"), PROTOBUF, "200"),
    ] {
        let (head, _) = ask(&api, target, accept, false);
        assert_eq!(head.split(' ').nth(1), Some(status), "{target}: {head}");
    }
}
