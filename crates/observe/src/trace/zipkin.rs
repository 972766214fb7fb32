//! Zipkin's API v2: a JSON array of spans.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::{Settings, Span};

pub(super) fn encode(spans: &[Span], settings: &Settings) -> Vec<u8> {
    let local = endpoint(settings);
    let spans: Vec<Value> = spans.iter().map(|span| object(span, &local)).collect();
    Value::from(spans).to_string().into_bytes()
}

fn endpoint(settings: &Settings) -> Value {
    let mut local = json!({ "serviceName": settings.service });
    if let Some(address) = settings.listens_on {
        let family = if address.is_ipv4() { "ipv4" } else { "ipv6" };
        local[family] = address.ip().to_string().into();
        local["port"] = address.port().into();
    }
    local
}

fn object(span: &Span, local: &Value) -> Value {
    let duration = span.ended.duration_since(span.began).unwrap_or(Duration::ZERO);
    let mut object = json!({
        "timestamp": micros(span.began),
        // At least 1, because Zipkin reads zero as unknown.
        "duration": u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).max(1),
        "traceId": hex(span.trace as u64),
        "id": hex(span.id),
        "name": span.name,
        "localEndpoint": local,
    });
    if let Some(parent) = span.parent {
        object["parentId"] = hex(parent).into();
    }
    if span.is_server {
        object["kind"] = "SERVER".into();
    }
    let mut tags: Map<String, Value> =
        span.tags.iter().map(|(key, value)| ((*key).to_owned(), value.as_str().into())).collect();
    if let Some(error) = &span.error {
        tags.insert("error".to_owned(), "true".into());
        let at = micros(span.ended);
        object["annotations"] = json!([
            { "timestamp": at, "value": "event:error" },
            { "timestamp": at, "value": format!("error.object:{error}") },
        ]);
    }
    if !tags.is_empty() {
        object["tags"] = tags.into();
    }
    object
}

fn hex(id: u64) -> String {
    format!("{id:016x}")
}

fn micros(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
