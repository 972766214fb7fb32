//! A running server: sockets, workers, HTTP listeners and the configuration they serve.
//!
//! The sockets belong to the server, not to a configuration. A reload builds the next configuration beside
//! the running one, binds what is new, and only when all of that went well swaps what each address serves.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::endpoint::{self, Bound, Endpoint};
use crate::http::{HttpBound, HttpServer, Site};
use crate::setup::Periodic;
use crate::udp::Workers;
use crate::{Address, Config, CorefilePoll, permit, runtime, tcp};

/// How long queries in flight may take to end when the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// Threads that serve UDP, where nothing asks for more and the machine has no less.
const WORKERS: usize = 8;

/// A server at work.
pub struct Server {
    endpoints: BTreeMap<Address, Arc<Endpoint>>,
    http: BTreeMap<String, HttpServer>,
    config: Config,
    tasks: Vec<JoinHandle<()>>,
    workers: Workers,
    stopping: Arc<AtomicBool>,
}

/// Sockets bound for a configuration that is not served yet.
struct NewSockets {
    dns: Vec<Bound>,
    http: Vec<HttpBound>,
}

impl Server {
    /// Binds everything and starts to serve.
    pub fn start(config: Config) -> io::Result<Server> {
        let mut server = Server {
            endpoints: BTreeMap::new(),
            http: BTreeMap::new(),
            config: Config::nothing(),
            tasks: Vec::new(),
            workers: Workers::start(net::cpu::available().min(WORKERS))?,
            stopping: Arc::new(AtomicBool::new(false)),
        };
        server.reload(config)?;
        Ok(server)
    }

    /// Takes over a new configuration. On error everything is as it was.
    pub fn reload(&mut self, config: Config) -> io::Result<()> {
        // The old configuration serves on meanwhile.
        config.prepare().map_err(io::Error::other)?;
        let sockets = config.services.iter().filter_map(|(_, service)| service.sockets).max();
        // Workers never wait for anything but packets: more of them than CPUs would only change places.
        self.workers.grow(sockets.unwrap_or(0).min(net::cpu::available()))?;
        let new = self.bind_new(&config)?;
        for block in &config.blocks {
            for plugin in block.plugins() {
                plugin.start();
            }
        }
        for (address, service) in &config.services {
            if let Some(endpoint) = self.endpoints.get(address) {
                endpoint.service.store(service.clone());
            }
        }
        let mut replaced = Vec::new();
        for bound in new.dns {
            replaced.extend(self.serve(bound)?);
        }
        self.serve_http(new.http, &config)?;
        let old_tasks = std::mem::replace(&mut self.tasks, config.tasks.iter().map(run_periodic).collect());
        let old = std::mem::replace(&mut self.config, config);
        for task in old_tasks {
            task.abort();
        }
        for endpoint in replaced {
            self.close(&endpoint);
        }
        self.close_unused();
        stop_plugins(&old);
        Ok(())
    }

    /// Binds the addresses that are not served yet, or with another number of sockets. Nothing is served on them before all are bound.
    fn bind_new(&self, config: &Config) -> io::Result<NewSockets> {
        let mut dns = Vec::new();
        for (address, service) in &config.services {
            // Sockets of any port could not be bound again to the one they have.
            let known = self.endpoints.get(address);
            if known.is_none_or(|known| known.sockets != service.sockets && address.port != 0) {
                dns.push(endpoint::bind(address, self.workers.count(), service.clone())?);
            }
        }
        let mut http: Vec<HttpBound> = Vec::new();
        for route in &config.routes {
            if !self.http.contains_key(&route.addr) && !http.iter().any(|bound| bound.addr == route.addr) {
                http.push(HttpBound::bind(&route.addr)?);
            }
        }
        Ok(NewSockets { dns, http })
    }

    /// Serves new sockets, and gives what was served on this address before.
    fn serve(&mut self, bound: Bound) -> io::Result<Option<Arc<Endpoint>>> {
        let Bound { endpoint, udp, tcp } = bound;
        let _entered = runtime::handle().enter();
        for listener in tcp {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::spawn(tcp::accept(listener, endpoint.clone()));
        }
        self.workers.serve(&endpoint, udp);
        Ok(self.endpoints.insert(endpoint.address.clone(), endpoint))
    }

    /// Answers what has arrived, then closes the sockets.
    fn close(&self, endpoint: &Arc<Endpoint>) {
        endpoint.closing.send_replace(true);
        self.workers.close(endpoint);
    }

    fn serve_http(&mut self, new: Vec<HttpBound>, config: &Config) -> io::Result<()> {
        let site_on = |addr: &str| Site {
            routes: config.routes.iter().filter(|route| route.addr == addr).cloned().collect(),
            tls: config.http_tls.get(addr).cloned(),
        };
        self.http.retain(|addr, server| {
            let site = site_on(addr);
            let wanted = !site.routes.is_empty();
            server.replace(site);
            wanted
        });
        for bound in new {
            let addr = bound.addr.clone();
            let server = bound.serve(site_on(&addr), &self.stopping)?;
            self.http.insert(addr, server);
        }
        Ok(())
    }

    /// Gives up the addresses the configuration does not name any more, answering what has arrived.
    fn close_unused(&mut self) {
        let wanted: Vec<&Address> = self.config.services.iter().map(|(address, _)| address).collect();
        let gone: Vec<Address> =
            self.endpoints.keys().filter(|address| !wanted.contains(address)).cloned().collect();
        for address in gone {
            if let Some(endpoint) = self.endpoints.remove(&address) {
                self.close(&endpoint);
            }
        }
    }

    /// Where the server really listens, in the order of the addresses.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.endpoints.values().map(|endpoint| endpoint.bound).collect()
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn poll(&self) -> Option<CorefilePoll> {
        self.config.poll
    }

    /// How long to go on serving after being told to stop, and who wants that.
    pub(crate) fn lameduck(&self) -> Option<(&'static str, Duration)> {
        self.config.lameduck.filter(|(_, duration)| !duration.is_zero())
    }

    /// From now on readiness says that we are leaving; everything else goes on.
    pub fn announce_stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Stops taking queries, lets those in flight end, and ends. False if some did not end in time.
    pub fn stop(mut self) -> bool {
        self.announce_stop();
        let endpoints = std::mem::take(&mut self.endpoints);
        for endpoint in endpoints.values() {
            endpoint.closing.send_replace(true);
        }
        for endpoint in endpoints.values() {
            self.workers.close(endpoint);
        }
        let end = Instant::now() + GRACE;
        while permit::waiting() > 0 || tcp::connections() > 0 {
            if Instant::now() >= end {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        for task in self.tasks.drain(..) {
            task.abort();
        }
        stop_plugins(&self.config);
        permit::waiting() == 0
    }
}

fn stop_plugins(config: &Config) {
    for block in &config.blocks {
        for plugin in block.plugins() {
            plugin.stop();
        }
    }
}

/// Does the work at its interval, where it may block, until aborted.
fn run_periodic(periodic: &Periodic) -> JoinHandle<()> {
    let Periodic { interval, work } = periodic.clone();
    runtime::handle().spawn(async move {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // The first tick is at once; setup has done that work already.
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let work = work.clone();
            let _ = tokio::task::spawn_blocking(move || work()).await;
        }
    })
}
