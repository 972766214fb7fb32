//! The life of the process: start, reload when asked or when the Corefile changed, stop when told.
//!
//! | signal | does |
//! |---|---|
//! | TERM | lameduck, then a graceful end; exit 0, or 3 if queries had to be given up |
//! | INT | the same; a second one ends at once with exit 2 |
//! | QUIT | ends at once |
//! | USR1, HUP | reload |

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corefile::Diagnostic;
use metrics::Counter;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::{self, Config, Input};
use crate::instance::for_each_plugin;
use crate::{CorefilePoll, PANICS, Plugin, PluginSpec, Server, log, permit, runtime};

/// Reloads that failed and left the old configuration serving.
pub static RELOAD_FAILED: Counter = Counter::new();

/// What a server process needs to know.
pub struct RunOptions {
    /// Reads the Corefile, at start and again at every reload.
    pub input: Box<dyn Fn() -> Result<Input, String> + Send + Sync>,
    pub plugins: &'static [PluginSpec],
    /// No banner at start.
    pub quiet: bool,
    pub pidfile: Option<PathBuf>,
    /// Printed after the zones, such as `Rhumb-0.1.0`.
    pub version_banner: String,
    /// Told the addresses once the server answers.
    pub ready: Box<dyn Fn(&Server) + Send + Sync>,
}

/// Why a configuration cannot be served.
pub enum Refusal {
    /// The Corefile could not be read.
    Unreadable(String),
    /// The Corefile is wrong; the first error is the one to show when there is room for one only.
    Wrong(Vec<Diagnostic>),
    /// An address could not be bound, or the system had nothing left to give.
    Unbound(io::Error),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Unreadable(error) => f.write_str(error),
            Refusal::Wrong(errors) => match errors.first() {
                Some(error) => error.fmt(f),
                None => f.write_str("the Corefile is wrong"),
            },
            Refusal::Unbound(error) => error.fmt(f),
        }
    }
}

/// Runs a server until it is told to stop.
pub fn run(options: RunOptions) -> Result<ExitCode, Refusal> {
    let options = Arc::new(options);
    net::raise_file_limit().map_err(Refusal::Unbound)?;
    register_metrics();
    supervise::set_log(|line| log::error(None, format_args!("{line}")));
    supervise::install_hook();
    let input = (options.input)().map_err(Refusal::Unreadable)?;
    let config = config::build(&input, options.plugins, &corefile::Disk).map_err(Refusal::Wrong)?;
    warn(&config);
    follow(&config);
    let mut signals = runtime::handle().block_on(async { Signals::listen() }).map_err(Refusal::Unbound)?;
    let server = Server::start(config).map_err(Refusal::Unbound)?;
    if let Some(path) = &options.pidfile {
        std::fs::write(path, format!("{}\n", std::process::id())).map_err(Refusal::Unbound)?;
    }
    let tried = server.config().digest.clone();
    let mut life = Life { server, options: Arc::clone(&options), tried, unreadable: false, wish: None };
    life.serving(&mut signals);
    if !options.quiet {
        banner(&life.server, &options.version_banner);
    }
    (options.ready)(&life.server);
    let code = life.live(signals);
    if let Some(path) = &options.pidfile {
        let _ = std::fs::remove_file(path);
    }
    log::flush();
    Ok(code)
}

fn register_metrics() {
    let registry = metrics::registry();
    // Names that are taken are ours, from an earlier run in the same process.
    let _ = registry.register_counter(
        "coredns_panics_total",
        "A metrics that counts the number of panics.",
        &PANICS,
    );
    let _ = registry.register_counter(
        "coredns_reload_failed_total",
        "Counter of the number of failed reload attempts.",
        &RELOAD_FAILED,
    );
    let _ = registry.register_counter(
        "rhumb_waits_refused_total",
        "Queries that failed because too many others were waiting.",
        &permit::REFUSED_TO_WAIT,
    );
    registry.set_collector("log", |found| {
        let help = "Log lines dropped because standard output did not take them in time.";
        found.counter("rhumb_log_lines_dropped_total", help, log::dropped() as f64);
    });
}

fn banner(server: &Server, version: &str) {
    let mut text = server.config().banner.join("\n");
    text.push('\n');
    text.push_str(version);
    match log::format() {
        log::Format::Json => log::info(None, format_args!("{}", text.trim_end())),
        log::Format::Text => {
            log::raw(&text);
            // Whoever is told next that we serve may write to standard output, too.
            log::flush();
        }
    }
}

/// What a configuration wants of the whole process.
fn follow(config: &Config) {
    log::set_debug(config.blocks().iter().any(|block| block.settings.debug));
    supervise::capture_backtraces(config.blocks().iter().any(|block| block.settings.stacktrace));
}

fn warn(config: &Config) {
    for warning in &config.warnings {
        log::warning(None, format_args!("{warning}"));
    }
}

struct Signals {
    term: Signal,
    int: Signal,
    quit: Signal,
    usr1: Signal,
    usr2: Signal,
    hup: Signal,
}

enum Wish {
    Stop(&'static str),
    StopNow,
    Reload(&'static str),
    Look,
}

impl Wish {
    /// Ends even a process that is stopping already.
    fn is_hurried(&self) -> bool {
        matches!(self, Wish::StopNow | Wish::Stop("SIGINT"))
    }
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        Ok(Signals {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            usr1: signal(SignalKind::user_defined1())?,
            usr2: signal(SignalKind::user_defined2())?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    /// The next signal, or the time to look at the Corefile.
    async fn next(&mut self, look_in: Option<Duration>) -> Wish {
        let look = async {
            match look_in {
                Some(duration) => tokio::time::sleep(duration).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(look);
        loop {
            tokio::select! {
                _ = self.term.recv() => return Wish::Stop("SIGTERM"),
                _ = self.int.recv() => return Wish::Stop("SIGINT"),
                _ = self.quit.recv() => return Wish::StopNow,
                _ = self.usr1.recv() => return Wish::Reload("SIGUSR1"),
                _ = self.hup.recv() => return Wish::Reload("SIGHUP"),
                _ = self.usr2.recv() => log::warning(None, format_args!("SIGUSR2: upgrading in place is not done; start the new process beside this one")),
                _ = &mut look => return Wish::Look,
            }
        }
    }
}

struct Life {
    server: Server,
    options: Arc<RunOptions>,
    /// The digest of the last Corefile, good or bad: a bad one is not tried again and again.
    tried: String,
    /// The Corefile could not be read at the last look, which was logged.
    unreadable: bool,
    /// What was wished while something else was done.
    wish: Option<Wish>,
}

/// A Corefile that was looked at.
enum Loaded {
    /// It says what the last one said.
    Unchanged,
    /// It cannot be parsed.
    Unparsed(Diagnostic),
    /// It says something new, by this digest; ready to be served, or not.
    New(String, Result<Box<Config>, Refusal>),
}

impl Life {
    fn live(mut self, mut signals: Signals) -> ExitCode {
        let mut interval = self.server.poll().map(with_jitter);
        loop {
            let wish = self.wish.take();
            match wish.unwrap_or_else(|| runtime::handle().block_on(signals.next(interval))) {
                Wish::Stop(name) => return self.stop(name, signals),
                Wish::StopNow => {
                    log::info(None, format_args!("SIGQUIT: Quitting process immediately"));
                    return ExitCode::SUCCESS;
                }
                Wish::Reload(name) => {
                    log::info(None, format_args!("{name}: Reloading"));
                    if let Some(Err(refusal)) = self.reload(&mut signals) {
                        log::error(None, format_args!("{name}: {refusal}"));
                        RELOAD_FAILED.inc();
                    }
                    interval = self.server.poll().map(with_jitter);
                }
                Wish::Look => {
                    if self.look(&mut signals) {
                        interval = self.server.poll().map(with_jitter);
                    }
                }
            }
        }
    }

    /// Reads the Corefile and gets ready what it says, as far as that can be done beside the running configuration.
    /// Files and API servers may keep us waiting: a signal to stop is heard meanwhile, and nothing comes back then.
    fn load(&mut self, signals: &mut Signals, unchanged: Option<String>) -> Option<Result<Loaded, Refusal>> {
        let (options, running) = (Arc::clone(&self.options), self.server.shared_config());
        let loading = move || {
            let input = (options.input)().map_err(Refusal::Unreadable)?;
            let parsed = match config::parse(&input, options.plugins, &corefile::Disk) {
                Ok(parsed) => parsed,
                Err(error) => return Ok(Loaded::Unparsed(error)),
            };
            if unchanged.as_ref() == Some(&parsed.digest) {
                return Ok(Loaded::Unchanged);
            }
            let digest = parsed.digest.clone();
            let config = config::set_up(parsed, options.plugins, &running).map_err(Refusal::Wrong);
            let prepare = |config: &Config| config.prepare().map_err(io::Error::other);
            let ready = config.and_then(|config| match prepare(&config) {
                Ok(()) => Ok(Box::new(config)),
                Err(error) => Err(Refusal::Unbound(error)),
            });
            Ok(Loaded::New(digest, ready))
        };
        let (loaded, wish) = aside(signals, loading, |wish| matches!(wish, Wish::Stop(_) | Wish::StopNow));
        self.wish = wish;
        loaded
    }

    /// Reloads, changed or not. Nothing comes back if a signal to stop came first.
    fn reload(&mut self, signals: &mut Signals) -> Option<Result<(), Refusal>> {
        match self.load(signals, None)? {
            Ok(Loaded::New(digest, config)) => {
                self.tried = digest;
                Some(config.and_then(|config| self.take_over(*config, signals)))
            }
            Ok(Loaded::Unparsed(error)) => Some(Err(Refusal::Wrong(vec![error]))),
            Ok(Loaded::Unchanged) => Some(Ok(())),
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// Takes over a configuration; on error the old one serves on.
    fn take_over(&mut self, config: Config, signals: &mut Signals) -> Result<(), Refusal> {
        log::info(None, format_args!("Reloading"));
        warn(&config);
        self.server.reload(config).map_err(Refusal::Unbound)?;
        follow(self.server.config());
        self.serving(signals);
        log::info(None, format_args!("Reloading complete"));
        Ok(())
    }

    /// Reloads if the Corefile says something else than before. True if the configuration changed.
    fn look(&mut self, signals: &mut Signals) -> bool {
        let config = match self.load(signals, Some(self.tried.clone())) {
            Some(Ok(Loaded::New(digest, config))) => {
                self.tried = digest;
                config
            }
            Some(Ok(Loaded::Unparsed(error))) => {
                log::warning(Some("reload"), format_args!("Corefile parse failed: {error}"));
                return false;
            }
            Some(Err(refusal)) => {
                if !std::mem::replace(&mut self.unreadable, true) {
                    log::warning(Some("reload"), format_args!("{refusal}; the running configuration stays"));
                }
                return false;
            }
            Some(Ok(Loaded::Unchanged)) | None => {
                self.unreadable = false;
                return false;
            }
        };
        self.unreadable = false;
        match config.and_then(|config| self.take_over(*config, signals)) {
            Ok(()) => true,
            Err(refusal) => {
                log::error(Some("reload"), format_args!("Corefile changed but reload failed: {refusal}"));
                RELOAD_FAILED.inc();
                false
            }
        }
    }

    /// Tells all plugins something, which may take its time. Signals that `end` that time are given back at once,
    /// the last of the others when it is over.
    fn tell(&self, signals: &mut Signals, what: fn(&dyn Plugin), end: fn(&Wish) -> bool) -> Option<Wish> {
        let blocks = self.server.config().blocks().to_vec();
        aside(signals, move || for_each_plugin(&blocks, "plugin", what), end).1
    }

    /// The configuration serves. What is wished meanwhile is done next.
    fn serving(&mut self, signals: &mut Signals) {
        let end = |wish: &Wish| matches!(wish, Wish::Stop(_) | Wish::StopNow);
        self.wish = self.tell(signals, |plugin| plugin.serving(), end);
    }

    /// Serves on for the lameduck time, then ends; a second interrupt cuts it short.
    fn stop(self, name: &str, mut signals: Signals) -> ExitCode {
        match name {
            "SIGINT" => log::info(None, format_args!("SIGINT: Shutting down")),
            _ => log::info(None, format_args!("{name}: Shutting down servers then terminating")),
        }
        let hurried = self.tell(&mut signals, |plugin| plugin.leaving(), |wish| wish.is_hurried());
        if let Some(code) = hurried.as_ref().and_then(at_once) {
            return code;
        }
        self.server.announce_stop();
        if let Some((plugin, duration)) = self.server.lameduck() {
            log::info(Some(plugin), format_args!("Going into lameduck mode for {duration:?}"));
            let end = Instant::now() + duration;
            while let Some(left) = end.checked_duration_since(Instant::now()) {
                let wish = runtime::handle().block_on(signals.next(Some(left)));
                if let Some(code) = at_once(&wish) {
                    return code;
                }
                if let Wish::Look = wish {
                    break;
                }
            }
        }
        if self.server.stop() { ExitCode::SUCCESS } else { ExitCode::from(3) }
    }
}

/// Does what may take its time, and listens to signals meanwhile. One that `end`s it is given back at once, without a result;
/// what was begun is left alone. The last of the others is given back with the result.
fn aside<T: Send + 'static>(
    signals: &mut Signals,
    work: impl FnOnce() -> T + Send + 'static,
    end: fn(&Wish) -> bool,
) -> (Option<T>, Option<Wish>) {
    let mut working = runtime::handle().spawn_blocking(move || supervise::step("reload", work));
    runtime::handle().block_on(async {
        let mut later = None;
        loop {
            tokio::select! {
                done = &mut working => return (done.ok().flatten(), later),
                wish = signals.next(None) => {
                    let ends = end(&wish);
                    later = Some(wish);
                    if ends {
                        return (None, later);
                    }
                }
            }
        }
    })
}

/// What ends a process that is stopping already.
fn at_once(wish: &Wish) -> Option<ExitCode> {
    match wish {
        Wish::StopNow => Some(ExitCode::SUCCESS),
        Wish::Stop("SIGINT") => {
            log::info(None, format_args!("SIGINT: Force quit"));
            Some(ExitCode::from(2))
        }
        Wish::Stop(_) | Wish::Reload(_) | Wish::Look => None,
    }
}

/// The interval moved by up to half the jitter either way, so that replicas do not all look at once.
fn with_jitter(poll: CorefilePoll) -> Duration {
    let jitter = poll.jitter.min(poll.interval / 2);
    if jitter.is_zero() {
        return poll.interval;
    }
    poll.interval - jitter / 2 + rand::random_range(Duration::ZERO..jitter)
}
