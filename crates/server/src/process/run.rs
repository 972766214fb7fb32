//! The server process: start, reload on a signal or when the Corefile changed, stop on a signal.
//!
//! | signal | effect |
//! |---|---|
//! | TERM | lameduck, then graceful shutdown; exit 0, or 3 if queries had to be aborted |
//! | INT | the same; a second one exits at once with 2 |
//! | QUIT | exits at once |
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
use crate::listen::permit;
use crate::{CorefilePoll, Lifecycle, PANICS, PluginSpec, Server, log, runtime};

/// Reloads that failed and left the old configuration serving.
pub static RELOAD_FAILED: Counter = Counter::new();

/// The options of a server process.
pub struct RunOptions {
    /// Reads the Corefile, at start and again at every reload.
    pub input: Box<dyn Fn() -> Result<Input, String> + Send + Sync>,
    pub plugins: &'static [PluginSpec],
    /// No banner at start.
    pub quiet: bool,
    pub pidfile: Option<PathBuf>,
    /// Printed after the zones, such as `Rhumb-0.1.0`.
    pub version_banner: String,
    /// Called once the server answers.
    pub ready: Box<dyn Fn(&Server) + Send + Sync>,
}

/// Why a configuration cannot be served.
pub enum ConfigError {
    /// The Corefile could not be read.
    Unreadable(String),
    /// The Corefile is invalid; the first error is the one to show if only one is shown.
    Invalid(Vec<Diagnostic>),
    /// An address could not be bound, a plugin could not be prepared, or system resources ran out.
    Unbound(io::Error),
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConfigError::Unreadable(error) => f.write_str(error),
            ConfigError::Invalid(errors) => match errors.first() {
                Some(error) => error.fmt(f),
                None => f.write_str("the Corefile is invalid"),
            },
            ConfigError::Unbound(error) => error.fmt(f),
        }
    }
}

/// Runs a server until a signal stops it.
pub fn run(options: RunOptions) -> Result<ExitCode, ConfigError> {
    let options = Arc::new(options);
    net::raise_file_limit().map_err(ConfigError::Unbound)?;
    register_metrics();
    supervise::set_log(|line| log::error(None, format_args!("{line}")));
    supervise::install_hook();
    let input = (options.input)().map_err(ConfigError::Unreadable)?;
    let config = config::build(&input, options.plugins, &corefile::Disk).map_err(ConfigError::Invalid)?;
    log_warnings(&config);
    apply_process_settings(&config);
    let mut signals =
        runtime::handle().block_on(async { Signals::listen() }).map_err(ConfigError::Unbound)?;
    let server = Server::start(config).map_err(ConfigError::Unbound)?;
    if let Some(path) = &options.pidfile {
        std::fs::write(path, format!("{}\n", std::process::id())).map_err(ConfigError::Unbound)?;
    }
    let last_digest = server.config().digest.clone();
    let mut process =
        Process { server, options: Arc::clone(&options), last_digest, unreadable: false, command: None };
    process.serving(&mut signals);
    if !options.quiet {
        banner(&process.server, &options.version_banner);
    }
    (options.ready)(&process.server);
    let code = process.run(signals);
    if let Some(path) = &options.pidfile {
        let _ = std::fs::remove_file(path);
    }
    log::flush();
    Ok(code)
}

fn register_metrics() {
    let registry = metrics::registry();
    // A name is taken only by an earlier run in the same process.
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
        "Queries that failed because the limit of waiting queries was reached.",
        &permit::WAITS_REFUSED,
    );
    registry.set_collector("log", |found| {
        let help = "Log lines dropped because standard output was not read fast enough or failed.";
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
            // The `ready` callback may write to standard output, too.
            log::flush();
        }
    }
}

/// Applies the settings that affect the whole process.
fn apply_process_settings(config: &Config) {
    log::set_debug(config.blocks().iter().any(|block| block.settings.debug));
    supervise::capture_backtraces(config.blocks().iter().any(|block| block.settings.stacktrace));
}

fn log_warnings(config: &Config) {
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

/// What the process has to do next.
enum Command {
    Stop(&'static str),
    StopNow,
    Reload(&'static str),
    CheckCorefile,
}

impl Command {
    /// Whether it ends even a process that is already stopping.
    fn is_forced(&self) -> bool {
        matches!(self, Command::StopNow | Command::Stop("SIGINT"))
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

    /// Waits for the next signal, or until the Corefile has to be checked.
    async fn next(&mut self, check_after: Option<Duration>) -> Command {
        let check_corefile = async {
            match check_after {
                Some(duration) => tokio::time::sleep(duration).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(check_corefile);
        loop {
            tokio::select! {
                _ = self.term.recv() => return Command::Stop("SIGTERM"),
                _ = self.int.recv() => return Command::Stop("SIGINT"),
                _ = self.quit.recv() => return Command::StopNow,
                _ = self.usr1.recv() => return Command::Reload("SIGUSR1"),
                _ = self.hup.recv() => return Command::Reload("SIGHUP"),
                _ = self.usr2.recv() => log::warning(None, format_args!("SIGUSR2: in-place upgrade is not supported; start the new process beside this one")),
                _ = &mut check_corefile => return Command::CheckCorefile,
            }
        }
    }
}

/// The running process.
struct Process {
    server: Server,
    options: Arc<RunOptions>,
    /// The digest of the last Corefile, valid or not: an invalid one is not retried until it changes.
    last_digest: String,
    /// The Corefile could not be read at the last check, which was logged.
    unreadable: bool,
    /// A command that arrived while another one was executed.
    command: Option<Command>,
}

/// The result of loading the Corefile.
enum LoadResult {
    Unchanged,
    /// It cannot be parsed.
    Unparsed(Diagnostic),
    /// It changed; its digest, and the configuration if it is valid.
    New(String, Result<Box<Config>, ConfigError>),
}

impl Process {
    fn run(mut self, mut signals: Signals) -> ExitCode {
        let mut interval = self.server.poll().map(with_jitter);
        loop {
            let command = self.command.take();
            match command.unwrap_or_else(|| runtime::handle().block_on(signals.next(interval))) {
                Command::Stop(name) => return self.stop(name, signals),
                Command::StopNow => {
                    log::info(None, format_args!("SIGQUIT: Quitting process immediately"));
                    return ExitCode::SUCCESS;
                }
                Command::Reload(name) => {
                    log::info(None, format_args!("{name}: Reloading"));
                    if let Some(Err(error)) = self.reload(&mut signals) {
                        log::error(None, format_args!("{name}: {error}"));
                        RELOAD_FAILED.inc();
                    }
                    interval = self.server.poll().map(with_jitter);
                }
                Command::CheckCorefile => {
                    if self.check_corefile(&mut signals) {
                        interval = self.server.poll().map(with_jitter);
                    }
                }
            }
        }
    }

    /// Loads the Corefile and prepares its configuration, while the running one serves. Files and API servers may take
    /// long to respond: returns None if a signal to stop arrives meanwhile.
    fn load(
        &mut self,
        signals: &mut Signals,
        unchanged: Option<String>,
    ) -> Option<Result<LoadResult, ConfigError>> {
        let (options, running) = (Arc::clone(&self.options), self.server.shared_config());
        let loading = move || {
            let input = (options.input)().map_err(ConfigError::Unreadable)?;
            let parsed = match config::parse(&input, options.plugins, &corefile::Disk) {
                Ok(parsed) => parsed,
                Err(error) => return Ok(LoadResult::Unparsed(error)),
            };
            if unchanged.as_ref() == Some(&parsed.digest) {
                return Ok(LoadResult::Unchanged);
            }
            let digest = parsed.digest.clone();
            let config = config::set_up(parsed, options.plugins, &running).map_err(ConfigError::Invalid);
            let prepare = |config: &Config| config.prepare().map_err(io::Error::other);
            let ready = config.and_then(|config| match prepare(&config) {
                Ok(()) => Ok(Box::new(config)),
                Err(error) => Err(ConfigError::Unbound(error)),
            });
            Ok(LoadResult::New(digest, ready))
        };
        let (loaded, command) = run_interruptible(signals, loading, |command| {
            matches!(command, Command::Stop(_) | Command::StopNow)
        });
        self.command = command;
        loaded
    }

    /// Reloads, changed or not. None if a signal to stop arrived first.
    fn reload(&mut self, signals: &mut Signals) -> Option<Result<(), ConfigError>> {
        match self.load(signals, None)? {
            Ok(LoadResult::New(digest, config)) => {
                self.last_digest = digest;
                Some(config.and_then(|config| self.switch_to(*config, signals)))
            }
            Ok(LoadResult::Unparsed(error)) => Some(Err(ConfigError::Invalid(vec![error]))),
            Ok(LoadResult::Unchanged) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        }
    }

    /// Switches to a new configuration; on error the old one serves on.
    fn switch_to(&mut self, config: Config, signals: &mut Signals) -> Result<(), ConfigError> {
        log::info(None, format_args!("Reloading"));
        log_warnings(&config);
        self.server.reload(config).map_err(ConfigError::Unbound)?;
        apply_process_settings(self.server.config());
        self.serving(signals);
        log::info(None, format_args!("Reloading complete"));
        Ok(())
    }

    /// Reloads if the Corefile changed. True if the configuration was replaced.
    fn check_corefile(&mut self, signals: &mut Signals) -> bool {
        let config = match self.load(signals, Some(self.last_digest.clone())) {
            Some(Ok(LoadResult::New(digest, config))) => {
                self.last_digest = digest;
                config
            }
            Some(Ok(LoadResult::Unparsed(error))) => {
                log::warning(Some("reload"), format_args!("Corefile parse failed: {error}"));
                return false;
            }
            Some(Err(error)) => {
                if !std::mem::replace(&mut self.unreadable, true) {
                    log::warning(
                        Some("reload"),
                        format_args!("{error}; the running configuration stays in use"),
                    );
                }
                return false;
            }
            Some(Ok(LoadResult::Unchanged)) | None => {
                self.unreadable = false;
                return false;
            }
        };
        self.unreadable = false;
        match config.and_then(|config| self.switch_to(*config, signals)) {
            Ok(()) => true,
            Err(error) => {
                log::error(Some("reload"), format_args!("Corefile changed but reload failed: {error}"));
                RELOAD_FAILED.inc();
                false
            }
        }
    }

    /// Calls a hook of all plugins, which may block. Returns a command for which `end` is true at once, else the last
    /// command when all hooks have returned.
    fn notify_plugins(
        &self,
        signals: &mut Signals,
        hook: fn(&dyn Lifecycle),
        end: fn(&Command) -> bool,
    ) -> Option<Command> {
        let config = self.server.shared_config();
        run_interruptible(signals, move || config.each_lifecycle("plugin", hook), end).1
    }

    /// Calls `serving` of all plugins. A command that arrives meanwhile is executed next.
    fn serving(&mut self, signals: &mut Signals) {
        let end = |command: &Command| matches!(command, Command::Stop(_) | Command::StopNow);
        self.command = self.notify_plugins(signals, |plugin| plugin.serving(), end);
    }

    /// Serves on for the lameduck time, then stops; a second SIGINT exits at once.
    fn stop(self, name: &str, mut signals: Signals) -> ExitCode {
        match name {
            "SIGINT" => log::info(None, format_args!("SIGINT: Shutting down")),
            _ => log::info(None, format_args!("{name}: Shutting down servers then terminating")),
        }
        let command =
            self.notify_plugins(&mut signals, |plugin| plugin.leaving(), |command| command.is_forced());
        if let Some(code) = command.as_ref().and_then(forced_exit) {
            return code;
        }
        self.server.announce_stop();
        if let Some((plugin, duration)) = self.server.lameduck() {
            log::info(Some(plugin), format_args!("Going into lameduck mode for {duration:?}"));
            let end = Instant::now() + duration;
            while let Some(left) = end.checked_duration_since(Instant::now()) {
                let command = runtime::handle().block_on(signals.next(Some(left)));
                if let Some(code) = forced_exit(&command) {
                    return code;
                }
                if let Command::CheckCorefile = command {
                    break;
                }
            }
        }
        if self.server.stop() { ExitCode::SUCCESS } else { ExitCode::from(3) }
    }
}

/// Runs work that may block and receives signals meanwhile. A command for which `end` is true is returned at once, without
/// a result, and the work goes on unattended; the last of the other commands is returned with the result.
fn run_interruptible<T: Send + 'static>(
    signals: &mut Signals,
    work: impl FnOnce() -> T + Send + 'static,
    end: fn(&Command) -> bool,
) -> (Option<T>, Option<Command>) {
    let mut working = runtime::handle().spawn_blocking(move || supervise::step("reload", work));
    runtime::handle().block_on(async {
        let mut later = None;
        loop {
            tokio::select! {
                done = &mut working => return (done.ok().flatten(), later),
                command = signals.next(None) => {
                    let ends = end(&command);
                    later = Some(command);
                    if ends {
                        return (None, later);
                    }
                }
            }
        }
    })
}

/// The exit code of a command that ends a process that is already stopping.
fn forced_exit(command: &Command) -> Option<ExitCode> {
    match command {
        Command::StopNow => Some(ExitCode::SUCCESS),
        Command::Stop("SIGINT") => {
            log::info(None, format_args!("SIGINT: Force quit"));
            Some(ExitCode::from(2))
        }
        Command::Stop(_) | Command::Reload(_) | Command::CheckCorefile => None,
    }
}

/// The interval, moved by up to half the jitter either way, so that replicas do not all check at once.
fn with_jitter(poll: CorefilePoll) -> Duration {
    let jitter = poll.jitter.min(poll.interval / 2);
    if jitter.is_zero() {
        return poll.interval;
    }
    poll.interval - jitter / 2 + rand::random_range(Duration::ZERO..jitter)
}
