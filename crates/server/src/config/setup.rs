//! The interface for plugins' setup, which turns a Corefile into a configuration.
//!
//! Setup has two phases, so that a plugin is made when all it needs is known, and its fields are plain values.
//!
//! ```text
//! 1  every directive of every block, in the order of plugins: parse, add plugins, settings, offers    Setup
//! 2  every block, when all are parsed: make the plugins that need other plugins or the listeners      Link
//! ```
//!
//! Most plugins need nothing and are added in phase 1. The others reserve their place in the chain and leave a closure
//! ([`Setup::add_linked`]). Phase 2 calls the closures from the last plugin to the first: plugins work with those below
//! them, whose offers, of either phase, are then there. A plugin that offers something to those below makes its offer
//! in phase 1. Nothing runs and nothing is bound before both phases are complete.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use corefile::{Diagnostic, Dispenser, ServerBlock, ZoneKey, zones_from_args_or_block};
use wire::NameBuf;

use crate::config::fingerprint::{self, Files};
use crate::config::values::Values;
use crate::http::{Route, SharedWebSource};
use crate::plugin::offers::{Offered, Offers};
use crate::{BlockFilter, BlockSettings, Plugin};

/// One entry of the list of plugins; the order of that list is the order of every chain.
#[derive(Clone, Copy)]
pub struct PluginSpec {
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    pub availability: Availability,
}

/// Whether a directive can be used.
#[derive(Clone, Copy)]
pub enum Availability {
    /// With the function that parses the directive.
    Available(SetupFn),
    /// A plugin of CoreDNS that Rhumb does not have yet.
    Planned,
    /// A plugin of CoreDNS that is not part of Rhumb; the text says what to use instead.
    Unsupported(&'static str),
}

pub type SetupFn = fn(&mut Setup<'_>) -> Result<(), Diagnostic>;

/// CoreDNS's error for a directive that may be used only once in a block.
pub const ONCE: &str = "this plugin can only be used once per Server Block";

/// One directive of one block, and the block that is being built.
pub struct Setup<'a> {
    /// The directive's tokens.
    pub c: Dispenser<'a>,
    /// The directive's name.
    pub(crate) name: &'static str,
    /// The position of the plugin that was added last.
    pub(crate) position: Option<usize>,
    pub(crate) keys: &'a [ZoneKey],
    pub(crate) block: &'a ServerBlock,
    /// The plugins after this directive's in the order of plugins.
    pub(crate) later: &'a [PluginSpec],
    pub(crate) draft: &'a mut BlockDraft,
    pub(crate) common: &'a mut ConfigDraft,
}

/// A block that is being built.
#[derive(Default)]
pub(crate) struct BlockDraft {
    pub chain: Vec<ChainDraft>,
    pub links: Vec<(&'static str, LinkFn)>,
    pub offers: Offers,
    pub settings: BlockSettings,
    pub root: Option<PathBuf>,
    /// None is every address.
    pub hosts: Option<Vec<String>>,
}

/// One place in the chain of a block that is being built.
pub(crate) struct ChainDraft {
    pub name: &'static str,
    pub plugin: PluginDraft,
}

pub(crate) enum PluginDraft {
    Made(Arc<dyn Plugin>),
    Linked(MakeFn),
}

type MakeFn = Box<dyn FnOnce(&mut Link<'_>) -> Result<Arc<dyn Plugin>, Diagnostic>>;
pub(crate) type LinkFn = Box<dyn FnOnce(&mut Link<'_>)>;

/// The part of a configuration being built that belongs to no block.
#[derive(Default)]
pub(crate) struct ConfigDraft {
    pub digest: String,
    pub routes: Vec<Route>,
    pub http_tls: BTreeMap<String, SharedWebSource>,
    pub tasks: Vec<Periodic>,
    pub lameduck: Option<(&'static str, Duration)>,
    pub poll: Option<CorefilePoll>,
    pub shared: Values,
    pub kept: Values,
    /// The kept values of the running configuration.
    pub running: Values,
    pub warnings: Vec<Diagnostic>,
    pub files: Files,
}

/// Work that runs at an interval while a configuration serves.
#[derive(Clone)]
pub struct Periodic {
    /// The name in log lines, such as `hosts: /etc/hosts`.
    pub name: String,
    pub interval: Duration,
    /// Runs on a thread where it may block.
    pub work: Arc<dyn Fn() + Send + Sync>,
}

/// How often to check whether the Corefile has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorefilePoll {
    pub interval: Duration,
    pub jitter: Duration,
}

impl Setup<'_> {
    /// The keys of the server block.
    pub fn keys(&self) -> &[ZoneKey] {
        self.keys
    }

    /// The zones given as arguments, or else the block's own. Invalid names are skipped.
    pub fn zones(&self, args: &[&str]) -> Vec<NameBuf> {
        zones_from_args_or_block(args, self.keys)
            .iter()
            .filter_map(|zone| NameBuf::parse(zone).ok())
            .collect()
    }

    /// Appends a plugin to the block's chain.
    pub fn add<P: Plugin>(&mut self, plugin: P) -> Arc<P> {
        let plugin = Arc::new(plugin);
        self.push(plugin.name(), PluginDraft::Made(plugin.clone()));
        plugin
    }

    /// Appends a plugin that is made in phase 2; `name` is what its [`Plugin::name`] will return.
    pub fn add_linked<P: Plugin>(
        &mut self,
        name: &'static str,
        make: impl FnOnce(&mut Link<'_>) -> Result<Arc<P>, Diagnostic> + 'static,
    ) {
        let make = move |link: &mut Link<'_>| make(link).map(|plugin| plugin as Arc<dyn Plugin>);
        self.push(name, PluginDraft::Linked(Box::new(make)));
    }

    fn push(&mut self, name: &'static str, plugin: PluginDraft) {
        self.position = Some(self.draft.chain.len());
        self.draft.chain.push(ChainDraft { name, plugin });
    }

    /// Calls `work` in phase 2, after the plugins of the block were made: for directives without a plugin in the chain.
    pub fn link(&mut self, work: impl FnOnce(&mut Link<'_>) + 'static) {
        self.draft.links.push((self.name, Box::new(work)));
    }

    /// Offers something to the server or to other plugins of the block, on behalf of the plugin added last.
    pub fn offer<T: ?Sized + Send + Sync + 'static>(&mut self, value: Arc<T>) {
        let name =
            self.position.and_then(|at| self.draft.chain.get(at)).map_or(self.name, |place| place.name);
        self.draft.offers.add(name, self.position, value);
    }

    pub fn settings(&mut self) -> &mut BlockSettings {
        &mut self.draft.settings
    }

    /// Whether the block has a directive, set up already or not.
    pub fn has_directive(&self, name: &str) -> bool {
        self.block.directive(name).is_some()
    }

    /// Sets the directory that relative paths start from.
    pub fn set_root(&mut self, root: PathBuf) {
        self.draft.root = Some(root);
    }

    pub fn root(&self) -> Option<&Path> {
        self.draft.root.as_deref()
    }

    /// The path of a file that the plugin reads, below the root if it is relative; then without `.` and doubled slashes,
    /// since logs and metrics show it.
    pub fn path(&mut self, path: &str) -> PathBuf {
        let path = match &self.draft.root {
            Some(root) if Path::new(path).is_relative() => root.join(path).components().collect(),
            _ => PathBuf::from(path),
        };
        self.reads(&path);
        path
    }

    /// Declares a file before it is read, if its path is not from [`Setup::path`]: when it changes, the next configuration
    /// starts with empty caches.
    pub fn reads(&mut self, path: &Path) {
        self.common.files.add(path);
    }

    /// Sets the addresses to listen on instead of all.
    pub fn listen_on(&mut self, hosts: Vec<String>) {
        self.draft.hosts = Some(hosts);
    }

    /// Those addresses, if an earlier directive has set any.
    pub fn hosts(&self) -> &[String] {
        self.draft.hosts.as_deref().unwrap_or_default()
    }

    /// Sets how long the process serves on after a signal to stop; the longest of all plugins wins.
    pub fn lameduck(&mut self, plugin: &'static str, duration: Duration) {
        let longer = self.common.lameduck.is_none_or(|(_, known)| duration > known);
        if longer {
            self.common.lameduck = Some((plugin, duration));
        }
    }

    /// Registers an HTTP route. The server owns the socket.
    pub fn http(&mut self, route: Route) {
        self.common.routes.push(route);
    }

    /// Sets the web configuration of an HTTP address.
    pub fn http_tls(&mut self, addr: &str, tls: SharedWebSource) {
        self.common.http_tls.insert(addr.to_owned(), tls);
    }

    /// Runs work at an interval while the configuration serves.
    pub fn every(
        &mut self,
        name: impl Into<String>,
        interval: Duration,
        work: impl Fn() + Send + Sync + 'static,
    ) {
        self.common.tasks.push(Periodic { name: name.into(), interval, work: Arc::new(work) });
    }

    /// Checks the Corefile for changes at an interval.
    pub fn poll_corefile(&mut self, poll: CorefilePoll) {
        self.common.poll = Some(poll);
    }

    /// The SHA-512 of the parsed Corefile, in hexadecimal.
    pub fn digest(&self) -> &str {
        &self.common.digest
    }

    /// A value shared by all plugins of this configuration that request this type and key.
    pub fn shared<T: Send + Sync + 'static>(&mut self, key: &str, make: impl FnOnce() -> T) -> Arc<T> {
        self.common.shared.get(None, key, make)
    }

    /// A value that outlives this configuration: the one of the running configuration for this type and key, if there
    /// is one, and the next configuration gets it from this one. The key must contain everything the value depends on.
    /// Setup must not change the value: it may be in use, and this configuration may never serve.
    pub fn kept<T: Send + Sync + 'static>(&mut self, key: &str, make: impl FnOnce() -> T) -> Arc<T> {
        self.common.kept.get(Some(&self.common.running), key, make)
    }

    /// A text that stays the same while the plugins after this one give the same answers: it contains where the block
    /// is served, the directives of those plugins, and a number that changes with the files that plugins read.
    pub fn fingerprint_below(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(ToString::to_string).collect();
        let (hosts, root, files) = (&self.draft.hosts, self.root(), self.common.files.generation());
        let place = format!("{keys:?} {hosts:?} {root:?} {files}");
        fingerprint::below(&place, self.block, self.later)
    }

    /// Adds a warning.
    pub fn warn(&mut self, warning: Diagnostic) {
        self.common.warnings.push(warning);
    }

    /// "This plugin can only be used once per Server Block."
    pub fn once_error(&self) -> Diagnostic {
        self.c.bare_err(ONCE)
    }
}

/// A block whose directives are all parsed, for a plugin that is made in phase 2.
pub struct Link<'a> {
    pub(crate) name: &'static str,
    pub(crate) position: Option<usize>,
    pub(crate) chain: &'a [&'static str],
    pub(crate) served: &'a [(String, String)],
    pub(crate) offers: &'a mut Offers,
}

impl Link<'_> {
    /// The names of the block's plugins in the order of the chain.
    pub fn chain(&self) -> &[&'static str] {
        self.chain
    }

    /// The name of the plugin after this one.
    pub fn next(&self) -> Option<&'static str> {
        self.chain.get(self.position? + 1).copied()
    }

    /// Pairs of server (`dns://:53`) and zone that the block serves, as metrics label them.
    pub fn served(&self) -> &[(String, String)] {
        self.served
    }

    /// The servers of these pairs, each once.
    pub fn servers(&self) -> Vec<&str> {
        let mut servers: Vec<&str> = Vec::new();
        for (server, _) in self.served {
            if !servers.contains(&server.as_str()) {
                servers.push(server);
            }
        }
        servers
    }

    /// The name of the block's view; empty if it has none.
    pub fn view(&self) -> String {
        let filters = self.offers.all::<dyn BlockFilter>();
        filters.first().map(|filter| filter.value.view_name().to_owned()).unwrap_or_default()
    }

    /// What other plugins of the block offer, in the order of the chain.
    pub fn offers<T: ?Sized + Send + Sync + 'static>(&self) -> Vec<Offered<T>> {
        self.offers.all()
    }

    /// Offers something on behalf of this plugin.
    pub fn offer<T: ?Sized + Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.offers.add(self.name, self.position, value);
    }
}
