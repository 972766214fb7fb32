//! A scripted stand-in for an API server, on loopback: it serves made-up objects and sends as many changes as it is
//! told to, faster than etcd would take them. It is not a real API server: there is no TLS, nobody is asked who they
//! are, nothing is checked and nothing can be written to it.
//!
//! It speaks as much of the API as a DNS server asks for: lists, whole or in pages, watches, and lists streamed as
//! watches, all in protobuf, which is what Rhumb and CoreDNS both ask for. Whoever takes JSON alone is refused.
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

/// What goes wrong with requests for a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// 403, in the words of a real server about a user `x`.
    Forbidden,
    /// 401.
    Unauthorized,
    /// They are read and never answered.
    Silence,
    /// Lists begin, with all objects, and never end.
    Unfinished,
}

/// Ends when dropped; watches end with it.
pub struct ScriptedApi {
    addr: SocketAddr,
    store: Arc<Store>,
    ended: Arc<AtomicBool>,
}

impl ScriptedApi {
    /// With these objects, on a free port of loopback. Of ServiceImports it knows nothing.
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
                // A connection ends with its peer; how does not matter.
                thread::spawn(move || drop(http::serve(&stream, &store)));
            }
        });
        Ok(Self { addr, store, ended })
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Adds or changes an object, and tells everybody who watches its kind.
    pub fn apply(&self, object: &Object) {
        self.store.apply(object);
    }

    /// From now on requests for a kind end like this.
    pub fn on(&self, resource: Resource, trouble: Trouble) {
        self.store.trouble(resource, trouble);
    }

    /// How many watch a kind now, as far as is known: one who has gone is missed with the next change.
    pub fn watchers(&self, resource: Resource) -> usize {
        self.store.watchers(resource)
    }
}

impl Drop for ScriptedApi {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.store.hang_up();
        // Wakes the one that accepts.
        let _ = TcpStream::connect(self.addr);
    }
}
