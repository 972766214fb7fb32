//! A fake API server on loopback: it serves given objects and sends changes faster than etcd would accept them. It has
//! no TLS, no authentication, no validation and no writes.
//!
//! It implements the requests of a DNS server: lists, whole or in pages, watches, and lists streamed as watches, all in
//! protobuf, which both Rhumb and CoreDNS request. Clients that accept only JSON get an error.
//!
//! ```no_run
//! use testkit::cluster::objects::{Object, Resource};
//! use testkit::scripted_api::ScriptedApi;
//! # fn main() -> testkit::Result<()> {
//! let namespace = Object::new(Resource::Namespace, "", "shop", serde_json::json!({"metadata": {"name": "shop"}}));
//! let api = ScriptedApi::start([namespace])?;
//! // ... start a server with `endpoint http://ADDR` ...
//! api.apply(&Object::new(Resource::Namespace, "", "bank", serde_json::json!({"metadata": {"name": "bank"}})));
//! # Ok(())
//! # }
//! ```

mod encode;
mod http;
mod message;
mod request;
mod store;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::cluster::objects::{Object, Resource};
use crate::error::{Context, Result};
use store::Store;

/// A fault of all requests for a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 403, with a real server's message for a user `x`.
    Forbidden,
    /// 401.
    Unauthorized,
    /// Requests are read and never answered.
    Silence,
    /// Lists start, with all objects, and never end.
    Unfinished,
}

/// Stops when dropped; watches end with it.
pub struct ScriptedApi {
    addr: SocketAddr,
    store: Arc<Store>,
    ended: Arc<AtomicBool>,
}

impl ScriptedApi {
    /// Serves these objects on a free loopback port. It does not serve ServiceImports.
    pub fn start(objects: impl IntoIterator<Item = Object>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("a scripted API server")?;
        let addr = listener.local_addr()?;
        let (store, ended) = (Arc::new(Store::default()), Arc::new(AtomicBool::new(false)));
        for object in objects {
            store.apply(&object);
        }
        let (kept, until) = (Arc::clone(&store), Arc::clone(&ended));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if until.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let store = Arc::clone(&kept);
                // Errors end the connection and do not matter.
                thread::spawn(move || drop(http::serve(&stream, &store)));
            }
        });
        Ok(Self { addr, store, ended })
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Adds or changes an object, and sends the event to all watches of its kind.
    pub fn apply(&self, object: &Object) {
        self.store.apply(object);
    }

    /// Sets the fault for requests of a kind.
    pub fn on(&self, resource: Resource, fault: Fault) {
        self.store.fault(resource, fault);
    }

    /// Number of watches of a kind; a closed one is noticed at the next change.
    pub fn watchers(&self, resource: Resource) -> usize {
        self.store.watchers(resource)
    }
}

impl Drop for ScriptedApi {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.store.close_watches();
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.addr);
    }
}
