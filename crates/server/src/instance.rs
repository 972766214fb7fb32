//! A running server: sockets, workers, HTTP listeners and the configuration they serve.
//!
//! The sockets belong to the server, not to a configuration. A reload builds the next configuration beside
//! the running one, binds what is new, and only when all of that went well swaps what each address serves.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use crate::endpoint::{self, Bound, Endpoint};
use crate::http::{HttpBound, HttpServer, Site};
use crate::setup::Periodic;
use crate::udp::Workers;
use crate::{Address, Block, Config, CorefilePoll, Plugin, log, permit, runtime, tcp};

/// How long all of what is under way may take to end when the server stops. Clients ask again after some seconds, and
/// Kubernetes sends them elsewhere by then.
const GRACE: Duration = Duration::from_millis(2500);

/// How long plugins may take to stop when the process ends.
const PLUGIN_STOP: Duration = Duration::from_secs(1);

/// Work that repeats is overdue after its interval, but not sooner than this.
const OVERDUE: Duration = Duration::from_secs(2);

/// Threads that serve UDP, where nothing asks for more and the machine has no less.
const WORKERS: usize = 8;

/// A server at work.
pub struct Server {
    endpoints: BTreeMap<Address, Arc<Endpoint>>,
    http: BTreeMap<String, HttpServer>,
    config: Arc<Config>,
    tasks: Vec<AbortHandle>,
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
            config: Arc::new(Config::nothing()),
            tasks: Vec::new(),
            workers: Workers::start(net::cpu::available().min(WORKERS))?,
            stopping: Arc::new(AtomicBool::new(false)),
        };
        config.prepare().map_err(io::Error::other)?;
        server.reload(config)?;
        Ok(server)
    }

    /// Takes over a new configuration that is prepared. On error everything is as it was: whatever can fail comes before
    /// the first plugin starts and the first service is replaced.
    pub fn reload(&mut self, config: Config) -> io::Result<()> {
        let sockets = config.services.iter().filter_map(|(_, service)| service.sockets).max();
        // Workers never wait for anything but packets: more of them than CPUs would only change places.
        self.workers.grow(sockets.unwrap_or(0).min(net::cpu::available()))?;
        let new = self.bind_new(&config)?;
        for_each_plugin(&config.blocks, "plugin-start", |plugin| plugin.start());
        for (address, service) in &config.services {
            if let Some(endpoint) = self.endpoints.get(address) {
                endpoint.service.store(service.clone());
            }
        }
        let replaced = new.dns.into_iter().filter_map(|bound| self.serve(bound)).collect();
        self.serve_http(new.http, &config);
        let old_tasks = std::mem::replace(&mut self.tasks, config.tasks.iter().map(run_periodic).collect());
        let old = std::mem::replace(&mut self.config, Arc::new(config));
        for task in old_tasks {
            task.abort();
        }
        self.close_unused(replaced);
        for_each_plugin(&old.blocks, "plugin-stop", |plugin| plugin.stop());
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
    fn serve(&mut self, bound: Bound) -> Option<Arc<Endpoint>> {
        let Bound { endpoint, udp, tcp } = bound;
        for listener in tcp.into_iter().map(Arc::new) {
            let endpoint = endpoint.clone();
            let accepting = move || tcp::accept(listener.clone(), endpoint.clone());
            supervise::spawn(runtime::handle(), "tcp-listener", accepting);
        }
        self.workers.serve(&endpoint, udp);
        self.endpoints.insert(endpoint.address.clone(), endpoint)
    }

    /// Answers what has arrived, then closes the sockets.
    fn close(&self, endpoints: &[Arc<Endpoint>]) {
        for endpoint in endpoints {
            endpoint.closing.send_replace(true);
        }
        self.workers.close(endpoints);
    }

    fn serve_http(&mut self, new: Vec<HttpBound>, config: &Config) {
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
            let server = bound.serve(site_on(&addr), &self.stopping);
            self.http.insert(addr, server);
        }
    }

    /// Gives up the endpoints that were replaced, and the addresses the configuration does not name any more.
    fn close_unused(&mut self, replaced: Vec<Arc<Endpoint>>) {
        let wanted: BTreeSet<&Address> = self.config.services.iter().map(|(address, _)| address).collect();
        let unused = self.endpoints.extract_if(.., |address, _| !wanted.contains(address));
        let gone: Vec<Arc<Endpoint>> = replaced.into_iter().chain(unused.map(|(_, it)| it)).collect();
        self.close(&gone);
    }

    /// Where the server really listens, in the order of the addresses.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.endpoints.values().map(|endpoint| endpoint.bound).collect()
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn shared_config(&self) -> Arc<Config> {
        Arc::clone(&self.config)
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
        let end = Instant::now() + GRACE;
        let endpoints: Vec<_> = std::mem::take(&mut self.endpoints).into_values().collect();
        self.close(&endpoints);
        while permit::waiting() > 0 || tcp::connections() > 0 {
            if Instant::now() >= end {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        for task in self.tasks.drain(..) {
            task.abort();
        }
        self.stop_plugins();
        permit::waiting() == 0
    }

    /// Plugins flush what they have for others, who may not take it.
    fn stop_plugins(&self) {
        let blocks = self.config.blocks.clone();
        let stopping = runtime::handle()
            .spawn_blocking(move || for_each_plugin(&blocks, "plugin-stop", |plugin| plugin.stop()));
        let stopped = runtime::handle().block_on(async { tokio::time::timeout(PLUGIN_STOP, stopping).await });
        if stopped.is_err() {
            log::warning(None, format_args!("plugins have not stopped after {PLUGIN_STOP:?}"));
        }
    }
}

/// Calls a hook of every plugin; a panic in one is logged and does not keep the others from theirs.
pub(crate) fn for_each_plugin(blocks: &[Arc<Block>], task: &str, work: fn(&dyn Plugin)) {
    for plugin in blocks.iter().flat_map(|block| block.plugins()) {
        supervise::step(task, || work(plugin.as_ref()));
    }
}

/// Does the work at its interval, where it may block, until aborted.
fn run_periodic(periodic: &Periodic) -> AbortHandle {
    let periodic = periodic.clone();
    supervise::spawn(runtime::handle(), "periodic", move || repeat(periodic.clone()))
}

async fn repeat(Periodic { what, interval, work }: Periodic) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The first tick is at once; setup has done that work already.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let (work, began) = (work.clone(), Instant::now());
        let mut working =
            tokio::task::spawn_blocking(move || supervise::step("periodic", || work()).unwrap_or_default());
        if tokio::time::timeout(interval.max(OVERDUE), &mut working).await.is_err() {
            let waited = began.elapsed();
            log::warning(None, format_args!("{what}: no answer for {waited:.1?}; the last good data stay"));
            let _ = working.await;
            log::info(None, format_args!("{what}: answered after {:.1?}", began.elapsed()));
        }
    }
}
