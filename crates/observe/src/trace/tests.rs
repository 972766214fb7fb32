use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use prost::Message;
use serde_json::{Value, json};

use super::batch::Batch;
use super::{Exporter, Protocol, Settings, Span, Url, id, otlp, zipkin};

fn settings(protocol: Protocol) -> Settings {
    Settings {
        protocol,
        url: Url::parse("http://127.0.0.1:9411/api/v2/spans").unwrap(),
        service: "dns".into(),
        listens_on: Some(SocketAddr::from(([127, 0, 0, 1], 53))),
        backlog: 1000,
        batch: 100,
        interval: Duration::from_secs(1),
    }
}

fn spans() -> Vec<Span> {
    let began = UNIX_EPOCH + Duration::from_micros(1_794_759_633_891_308);
    let query = Span {
        trace: 0x1_0000_0000_0000_0000 + 7,
        id: 7,
        parent: None,
        name: "servedns",
        began,
        ended: began + Duration::from_micros(57),
        is_server: true,
        tags: vec![("coredns.io/name", "example.org.".into())],
        error: Some("no next plugin found".into()),
    };
    let step = Span {
        id: 8,
        parent: Some(7),
        name: "whoami",
        ended: began,
        is_server: false,
        tags: Vec::new(),
        error: None,
        ..query.clone()
    };
    vec![query, step]
}

/// The members are those that CoreDNS 1.15.0 sends.
#[test]
fn zipkin_json_has_the_members_coredns_sends() {
    let got: Value = serde_json::from_slice(&zipkin::encode(&spans(), &settings(Protocol::Zipkin))).unwrap();
    let local = json!({ "serviceName": "dns", "ipv4": "127.0.0.1", "port": 53 });
    let at = 1_794_759_633_891_365_u64;
    let expected = json!([
        {
            "timestamp": 1_794_759_633_891_308_u64,
            "duration": 57,
            "traceId": "0000000000000007",
            "id": "0000000000000007",
            "name": "servedns",
            "kind": "SERVER",
            "localEndpoint": local,
            "annotations": [
                { "timestamp": at, "value": "event:error" },
                { "timestamp": at, "value": "error.object:no next plugin found" },
            ],
            "tags": { "coredns.io/name": "example.org.", "error": "true" },
        },
        {
            "timestamp": 1_794_759_633_891_308_u64,
            "duration": 1,
            "traceId": "0000000000000007",
            "id": "0000000000000008",
            "parentId": "0000000000000007",
            "name": "whoami",
            "localEndpoint": local,
        },
    ]);
    assert_eq!(got, expected);
}

#[test]
fn spans_encode_as_otlp() {
    let bytes = otlp::encode(&spans(), &settings(Protocol::Otlp));
    let request = otlp::Request::decode(&*bytes).unwrap();
    let resource_spans = &request.resource_spans[0];
    let service = &resource_spans.resource.as_ref().unwrap().attributes[0];
    assert_eq!(
        (service.key.as_str(), &service.value.as_ref().unwrap().string_value),
        ("service.name", &Some("dns".into()))
    );
    let [query, step] = &resource_spans.scope_spans[0].spans[..] else { panic!("two spans") };
    assert_eq!(query.trace_id, [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7]);
    assert_eq!((query.kind, step.kind), (2, 1));
    assert_eq!((query.parent_span_id.len(), &step.parent_span_id), (0, &query.span_id));
    assert_eq!(query.end_time_unix_nano - query.start_time_unix_nano, 57_000);
    assert_eq!(query.status.as_ref().unwrap().message, "no next plugin found");
}

#[test]
fn urls_parse_and_print() {
    for (text, printed) in [
        ("http://a:9411/api/v2/spans", Some("http://a:9411/api/v2/spans")),
        ("HTTPS://a/x?y", Some("https://a/x?y")),
        ("http://a", Some("http://a/")),
        ("http://[::1]:4318?z", Some("http://[::1]:4318/?z")),
        ("a:9411", None),
    ] {
        assert_eq!(Url::parse(text).map(|url| url.to_string()).as_deref(), printed, "{text}");
    }
}

#[test]
fn a_full_backlog_drops_the_oldest_spans() {
    let mut batch = Batch::new(3);
    assert_eq!(batch.add(spans()), 0);
    assert_eq!(batch.add(spans()), 1);
    assert_eq!(batch.spans().iter().map(|span| span.id).collect::<Vec<_>>(), [8, 7, 8]);
    batch.clear();
    assert_eq!(batch.len(), 0);
}

#[test]
fn ids_are_positive() {
    assert_eq!((id(0), id(1), id(u64::MAX)), (1, 1, i64::MAX as u64));
}

/// Accepts requests, one connection after the other, and counts them.
fn collect(listener: &TcpListener, requests: &AtomicUsize) {
    for stream in listener.incoming().map_while(Result::ok) {
        let mut stream = BufReader::new(stream);
        loop {
            let mut length = 0;
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|read| read > 0) && line != "\r\n" {
                let header = line.to_ascii_lowercase();
                length =
                    header.strip_prefix("content-length: ").map_or(length, |n| n.trim().parse().unwrap());
                line.clear();
            }
            if stream.read_exact(&mut vec![0; length]).is_err() || length == 0 {
                break;
            }
            requests.fetch_add(1, Ordering::Relaxed);
            let _ = stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
    }
}

/// A panic is counted, and traces reach the collector again.
#[test]
fn traces_flow_again_after_a_panic() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    std::thread::spawn(move || collect(&listener, &counter));
    let interval = Duration::from_millis(10);
    let exporter = Exporter::new(Settings { url, interval, ..settings(Protocol::Zipkin) });
    exporter.start();
    let push_until = |what: &str, is_true: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(20);
        while !is_true() {
            assert!(Instant::now() < end, "{what}");
            exporter.push(spans());
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    for task in ["trace", "trace-batch", "trace-connection"] {
        let flows = |when: &str| {
            let before = requests.load(Ordering::Relaxed);
            // The first may have been in flight before.
            push_until(&format!("{task}: {when}"), &|| requests.load(Ordering::Relaxed) > before + 1);
        };
        flows("before");
        supervise::inject::arm(task, 1);
        push_until(task, &|| supervise::panics(task) == 1);
        flows("after");
    }
    exporter.stop();
}
