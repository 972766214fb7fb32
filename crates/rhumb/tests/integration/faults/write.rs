//! Brings a cluster into a state despite API failures: unconfirmed writes are repeated.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::cluster::objects::{Resource, text};
use testkit::cluster::{Api, Method, Response};

use super::subject::{Kind, PORT, State, Subject};

/// Request timeout. Short, since requests are repeated.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    Done,
    /// It may have succeeded or not.
    Retry,
    /// The address is allocated to an incomplete Service; the API server frees it after minutes.
    AddressTaken,
}

/// Attempts to bring a subject into a state.
pub fn attempt(api: &Api, subject: &Subject, state: &State) -> Attempt {
    let done = match (subject.kind, state) {
        (Kind::Namespace, State::Absent) => remove_namespace(api, &subject.namespace),
        (Kind::Namespace, _) => create_namespace(api, &subject.namespace),
        (Kind::Service, State::Absent) => remove(api, &path(Resource::Service, subject)),
        (Kind::Service, state) => return create_service(api, subject, state),
        (Kind::Pod, State::Absent) => remove(api, &path(Resource::Pod, subject)),
        (Kind::Pod, state) => create_pod(api, subject, state),
        (Kind::Headless, state) => replace_slice(api, subject, state),
    };
    if done { Attempt::Done } else { Attempt::Retry }
}

/// Creates the objects that a subject's first state needs.
pub fn prepare(api: &Api, subject: &Subject) -> testkit::Result<()> {
    if subject.kind != Kind::Headless {
        return Ok(());
    }
    api.create(&Resource::Service.collection(&subject.namespace), &service(subject, "None"))?;
    let slices = Resource::EndpointSlice.collection(&subject.namespace);
    // Replaced by the first state; the address is not queried.
    api.create(&slices, &slice(subject, &State::At([10, 202, 0, 1].into()))).map(drop)
}

pub fn create_namespace(api: &Api, name: &str) -> bool {
    let object = json!({"metadata": {"name": name}});
    let created = send(api, Method::POST, &Resource::Namespace.collection(""), Some(&object));
    is(&created, &[200, 201, 409])
}

/// Removes the finalizer too: no controller does it here.
fn remove_namespace(api: &Api, name: &str) -> bool {
    let path = Resource::Namespace.path("", name);
    if is(&send(api, Method::DELETE, &path, None), &[404]) {
        return true;
    }
    let emptied = json!({"metadata": {"name": name}, "spec": {"finalizers": []}});
    send(api, Method::PUT, &format!("{path}/finalize"), Some(&emptied));
    is(&send(api, Method::GET, &path, None), &[404])
}

fn create_service(api: &Api, subject: &Subject, state: &State) -> Attempt {
    let address = state.addresses().first().map(ToString::to_string).unwrap_or_default();
    let collection = Resource::Service.collection(&subject.namespace);
    let created = send(api, Method::POST, &collection, Some(&service(subject, &address)));
    if is(&created, &[200, 201]) {
        return Attempt::Done;
    }
    // An earlier attempt may have succeeded unconfirmed; then the Service itself has the address.
    let read = send(api, Method::GET, &path(Resource::Service, subject), None);
    let found = read.as_ref().and_then(|read| serde_json::from_slice::<Value>(&read.body).ok());
    match (is(&read, &[200]), is(&read, &[404])) {
        (true, _) if found.is_some_and(|found| text(&found, "/spec/clusterIP") == address) => Attempt::Done,
        (_, true) if created.is_some_and(|response| response.text().contains("already allocated")) => {
            Attempt::AddressTaken
        }
        _ => Attempt::Retry,
    }
}

fn create_pod(api: &Api, subject: &Subject, state: &State) -> bool {
    let pod = json!({
        "metadata": {"name": subject.name},
        "spec": {"containers": [{"name": "c", "image": "none"}]},
    });
    let created = send(api, Method::POST, &Resource::Pod.collection(&subject.namespace), Some(&pod));
    let ips: Vec<_> = state.addresses().iter().map(|ip| json!({"ip": ip})).collect();
    let status = json!({"status": {"phase": "Running", "podIP": state.addresses().first(), "podIPs": ips}});
    let path = format!("{}/status", path(Resource::Pod, subject));
    is(&created, &[200, 201, 409]) && is(&send(api, Method::PATCH, &path, Some(&status)), &[200])
}

fn replace_slice(api: &Api, subject: &Subject, state: &State) -> bool {
    let path = path(Resource::EndpointSlice, subject);
    is(&send(api, Method::PUT, &path, Some(&slice(subject, state))), &[200, 201])
}

fn remove(api: &Api, path: &str) -> bool {
    let path = format!("{path}?gracePeriodSeconds=0");
    is(&send(api, Method::DELETE, &path, None), &[200, 202, 404])
}

fn service(subject: &Subject, address: &str) -> Value {
    json!({
        "metadata": {"name": subject.name},
        "spec": {"clusterIP": address, "ports": [{"name": "http", "port": PORT}]},
    })
}

fn slice(subject: &Subject, state: &State) -> Value {
    let endpoints: Vec<_> = state.addresses().iter().map(|ip| json!({"addresses": [ip]})).collect();
    json!({
        "metadata": {"name": subject.name, "labels": {"kubernetes.io/service-name": subject.name}},
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"name": "http", "port": PORT}],
    })
}

fn path(resource: Resource, subject: &Subject) -> String {
    resource.path(&subject.namespace, &subject.name)
}

fn is(response: &Option<Response>, statuses: &[u16]) -> bool {
    response.as_ref().is_some_and(|response| statuses.contains(&response.status))
}

/// None without a response.
fn send(api: &Api, method: Method, path: &str, body: Option<&Value>) -> Option<Response> {
    let content_type =
        if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    api.send(method, path, body.map(|body| (content_type, body))).ok()
}
