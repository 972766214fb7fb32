use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

use prost::Message;
use serde_json::{Value, json};

use super::batch::Batch;
use super::{Protocol, Settings, Span, Url, id, otlp, zipkin};

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
fn zipkin_objects() {
    let got: Value = serde_json::from_slice(&zipkin::encode(&spans(), &settings(Protocol::Zipkin))).unwrap();
    let here = json!({ "serviceName": "dns", "ipv4": "127.0.0.1", "port": 53 });
    let at = 1_794_759_633_891_365_u64;
    let expected = json!([
        {
            "timestamp": 1_794_759_633_891_308_u64,
            "duration": 57,
            "traceId": "0000000000000007",
            "id": "0000000000000007",
            "name": "servedns",
            "kind": "SERVER",
            "localEndpoint": here,
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
            "localEndpoint": here,
        },
    ]);
    assert_eq!(got, expected);
}

#[test]
fn otlp_messages() {
    let bytes = otlp::encode(&spans(), &settings(Protocol::Otlp));
    let request = otlp::Request::decode(&*bytes).unwrap();
    let of_resource = &request.resource_spans[0];
    let service = &of_resource.resource.as_ref().unwrap().attributes[0];
    assert_eq!(
        (service.key.as_str(), &service.value.as_ref().unwrap().string_value),
        ("service.name", &Some("dns".into()))
    );
    let [query, step] = &of_resource.scope_spans[0].spans[..] else { panic!("two spans") };
    assert_eq!(query.trace_id, [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7]);
    assert_eq!((query.kind, step.kind), (2, 1));
    assert_eq!((query.parent_span_id.len(), &step.parent_span_id), (0, &query.span_id));
    assert_eq!(query.end_time_unix_nano - query.start_time_unix_nano, 57_000);
    assert_eq!(query.status.as_ref().unwrap().message, "no next plugin found");
}

#[test]
fn urls() {
    for (text, shown) in [
        ("http://a:9411/api/v2/spans", Some("http://a:9411/api/v2/spans")),
        ("HTTPS://a/x?y", Some("https://a/x?y")),
        ("http://a", Some("http://a/")),
        ("http://[::1]:4318?z", Some("http://[::1]:4318/?z")),
        ("a:9411", None),
    ] {
        assert_eq!(Url::parse(text).map(|url| url.to_string()).as_deref(), shown, "{text}");
    }
}

#[test]
fn the_oldest_spans_go_first() {
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
