//! HTTP endpoints: health, readiness, metrics. The server owns the sockets, so that they survive a reload; plugins
//! only register routes.

mod admission;
mod password;
mod probe;
mod rate;
mod route;
mod serve;
mod web;

pub use hyper::body::Bytes;
pub use hyper::{HeaderMap, Method};
pub use password::check_hash;
pub use probe::probe;
pub use route::{HttpAnswer, HttpBody, HttpFuture, HttpRequest, Route};
pub(crate) use serve::{HttpBound, HttpServer, Site};
pub use web::{Rate, Rules, SharedWebSource, WebSource};
