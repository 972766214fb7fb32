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

use crate::config::setup::Periodic;
use crate::http::{HttpBound, HttpServer, Site};
use crate::listen::endpoint::{self, BoundEndpoint, Endpoint};
use crate::listen::udp::Workers;
use crate::listen::{permit, tcp};
use crate::{Address, Config, CorefilePoll, log, runtime};

/// How long queries in flight may take to end when the server stops. Clients retry after some seconds, and are routed
/// elsewhere by then.
const GRACE: Duration = Duration::from_millis(2500);

/// How long plugins may take to stop when the process ends.
const PLUGIN_STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Periodic work is overdue after its interval, but not sooner than this.
const MIN_OVERDUE: Duration = Duration::from_secs(2);

/// Default number of UDP workers, if there are as many CPUs.
const DEFAULT_WORKERS: usize = 8;

/// A running server.
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
    dns: Vec<BoundEndpoint>,
    http: Vec<HttpBound>,
}

impl Server {
    /// Binds all addresses and starts to serve.
    pub fn start(config: Config) -> io::Result<Server> {
        let mut server = Server {
            endpoints: BTreeMap::new(),
            http: BTreeMap::new(),
            config: Arc::new(Config::empty()),
            tasks: Vec::new(),
            workers: Workers::start(net::cpu::available().min(DEFAULT_WORKERS))?,
            stopping: Arc::new(AtomicBool::new(false)),
        };
        config.prepare().map_err(io::Error::other)?;
        server.reload(config)?;
        Ok(server)
    }

    /// Replaces the configuration by a new, prepared one. An error changes nothing: all steps that can fail come before
    /// the first plugin starts and the first service is replaced.
    pub fn reload(&mut self, config: Config) -> io::Result<()> {
        let sockets = config.services.iter().filter_map(|(_, service)| service.sockets).max();
        // Workers wait for nothing but packets: more of them than CPUs would only cause context switches.
        self.workers.grow(sockets.unwrap_or(0).min(net::cpu::available()))?;
        let new = self.bind_new(&config)?;
        config.each_lifecycle("plugin-start", |plugin| plugin.start());
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
        old.each_lifecycle("plugin-stop", |plugin| plugin.stop());
        Ok(())
    }

    /// Binds the addresses that are not served yet, or with another number of sockets. None is served before all are
    /// bound.
    fn bind_new(&self, config: &Config) -> io::Result<NewSockets> {
        let mut dns = Vec::new();
        for (address, service) in &config.services {
            // For port 0 further sockets could not be bound to the port in use.
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

    /// Serves new sockets and returns the endpoint that served this address before.
    fn serve(&mut self, bound: BoundEndpoint) -> Option<Arc<Endpoint>> {
        let BoundEndpoint { endpoint, acceptor } = bound;
        acceptor.serve(&endpoint, &self.workers);
        self.endpoints.insert(endpoint.address.clone(), endpoint)
    }

    /// Answers the packets that have arrived, then closes the sockets.
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

    /// Closes the endpoints that were replaced, and the addresses that are no longer configured.
    fn close_unused(&mut self, replaced: Vec<Arc<Endpoint>>) {
        let wanted: BTreeSet<&Address> = self.config.services.iter().map(|(address, _)| address).collect();
        let unused = self.endpoints.extract_if(.., |address, _| !wanted.contains(address));
        let gone: Vec<Arc<Endpoint>> = replaced.into_iter().chain(unused.map(|(_, it)| it)).collect();
        self.close(&gone);
    }

    /// The bound addresses, in the order of the configured ones.
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

    /// How long to serve on after a signal to stop, with the plugin that configures it.
    pub(crate) fn lameduck(&self) -> Option<(&'static str, Duration)> {
        self.config.lameduck.filter(|(_, duration)| !duration.is_zero())
    }

    /// Makes the readiness endpoint report that the process is stopping; everything else goes on.
    pub fn announce_stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Stops accepting queries and waits for those in flight. False if some did not end in time.
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

    /// Calls `stop` of all plugins with a timeout: they flush data to receivers that may not read it.
    fn stop_plugins(&self) {
        let config = self.shared_config();
        let stopping = runtime::handle()
            .spawn_blocking(move || config.each_lifecycle("plugin-stop", |plugin| plugin.stop()));
        let stopped =
            runtime::handle().block_on(async { tokio::time::timeout(PLUGIN_STOP_TIMEOUT, stopping).await });
        if stopped.is_err() {
            log::warning(None, format_args!("plugins still stopping after {PLUGIN_STOP_TIMEOUT:?}; exiting"));
        }
    }
}

/// Runs the work at its interval, on a thread where it may block, until aborted.
fn run_periodic(periodic: &Periodic) -> AbortHandle {
    let periodic = periodic.clone();
    supervise::spawn(runtime::handle(), "periodic", move || repeat(periodic.clone()))
}

async fn repeat(Periodic { name, interval, work }: Periodic) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The first tick is immediate; setup has done that work already.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let (work, began) = (work.clone(), Instant::now());
        let mut working =
            tokio::task::spawn_blocking(move || supervise::step("periodic", || work()).unwrap_or_default());
        if tokio::time::timeout(interval.max(MIN_OVERDUE), &mut working).await.is_err() {
            let waited = began.elapsed();
            log::warning(
                None,
                format_args!(
                    "{name}: periodic work still running after {waited:.1?}; the last good data stay in use"
                ),
            );
            let _ = working.await;
            log::info(None, format_args!("{name}: periodic work took {:.1?}", began.elapsed()));
        }
    }
}
