//! What a plugin's setup has in hand while a Corefile becomes a configuration.
//!
//! Setup has two passes. First every directive of every block is parsed, in the fixed order of plugins; each
//! adds plugins to its block or says something about the block ([`Setup`]). When all exist, each may take
//! hold of others ([`Link`]). Nothing runs and nothing is bound before both are through.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use corefile::{Diagnostic, Dispenser, ServerBlock, ZoneKey, zones_from_args_or_block};
use wire::NameBuf;

use crate::fingerprint::{self, Files};
use crate::http::{Route, TlsSource};
use crate::kept::Values;
use crate::{Block, BlockSettings, Plugin};

/// One line of the list of plugins; the order of that list is the order of every chain.
#[derive(Clone, Copy)]
pub struct PluginSpec {
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    pub availability: Availability,
}

/// Whether a directive can be used.
#[derive(Clone, Copy)]
pub enum Availability {
    /// Parses the directive.
    Here(SetupFn),
    /// Known, but still to come.
    ToCome,
    /// Known and not part of Rhumb; the text says what to use instead.
    Never(&'static str),
}

pub type SetupFn = fn(&mut Setup<'_>) -> Result<(), Diagnostic>;

/// The words CoreDNS has for a directive that may stand only once in a block.
pub const ONCE: &str = "this plugin can only be used once per Server Block";

/// One directive of one block, and the block in the making.
pub struct Setup<'a> {
    /// The directive's tokens.
    pub c: Dispenser<'a>,
    pub(crate) keys: &'a [ZoneKey],
    pub(crate) block: &'a ServerBlock,
    /// The plugins whose place is behind this directive's.
    pub(crate) later: &'a [PluginSpec],
    pub(crate) draft: &'a mut Draft,
    pub(crate) common: &'a mut Common,
}

/// A block while its directives are being read.
#[derive(Default)]
pub(crate) struct Draft {
    pub chain: Vec<Arc<dyn Plugin>>,
    pub beside: Vec<Arc<dyn Plugin>>,
    pub settings: BlockSettings,
    pub root: Option<PathBuf>,
    /// None: every address.
    pub hosts: Option<Vec<String>>,
}

/// What belongs to the whole configuration rather than to a block.
#[derive(Default)]
pub(crate) struct Common {
    pub digest: String,
    pub routes: Vec<Route>,
    pub http_tls: BTreeMap<String, TlsSource>,
    pub tasks: Vec<Periodic>,
    pub lameduck: Option<(&'static str, Duration)>,
    pub poll: Option<CorefilePoll>,
    pub shared: Values,
    pub kept: Values,
    /// What the running configuration keeps.
    pub running: Values,
    pub warnings: Vec<Diagnostic>,
    pub files: Files,
}

/// Work to be done again and again while a configuration serves.
#[derive(Clone)]
pub struct Periodic {
    /// As logs name it, such as `hosts: /etc/hosts`.
    pub what: String,
    pub interval: Duration,
    /// Runs where it may block.
    pub work: Arc<dyn Fn() + Send + Sync>,
}

/// How often to look whether the Corefile has changed.
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

    /// The zones given as arguments, or else the block's own. What is not a zone is passed over.
    pub fn zones(&self, args: &[&str]) -> Vec<NameBuf> {
        zones_from_args_or_block(args, self.keys)
            .iter()
            .filter_map(|zone| NameBuf::parse(zone).ok())
            .collect()
    }

    /// Adds a plugin to the block's chain, behind those that are there.
    pub fn add(&mut self, plugin: impl Plugin) {
        self.draft.chain.push(Arc::new(plugin));
    }

    /// Adds a plugin that no query passes: it is linked, started and stopped with the block, no more.
    pub fn beside(&mut self, plugin: impl Plugin) {
        self.draft.beside.push(Arc::new(plugin));
    }

    pub fn add_arc(&mut self, plugin: Arc<dyn Plugin>) {
        self.draft.chain.push(plugin);
    }

    pub fn settings(&mut self) -> &mut BlockSettings {
        &mut self.draft.settings
    }

    /// Whether the block has a directive, be it set up already or not.
    pub fn has_directive(&self, name: &str) -> bool {
        self.block.directive(name).is_some()
    }

    /// The folder relative paths start from.
    pub fn set_root(&mut self, root: PathBuf) {
        self.draft.root = Some(root);
    }

    pub fn root(&self) -> Option<&Path> {
        self.draft.root.as_deref()
    }

    /// A file of the Corefile that is read, below the root if it is relative; then without `.` and doubled slashes, since
    /// logs and metrics show it.
    pub fn path(&mut self, path: &str) -> PathBuf {
        let path = match &self.draft.root {
            Some(root) if Path::new(path).is_relative() => root.join(path).components().collect(),
            _ => PathBuf::from(path),
        };
        self.reads(&path);
        path
    }

    /// To be called before a file is read that did not come from [`Setup::path`]: a configuration that finds it changed
    /// begins with empty caches.
    pub fn reads(&mut self, path: &Path) {
        self.common.files.add(path);
    }

    /// Addresses to listen on instead of all.
    pub fn listen_on(&mut self, hosts: Vec<String>) {
        self.draft.hosts = Some(hosts);
    }

    /// Those addresses, as far as directives before this one have named any.
    pub fn hosts(&self) -> &[String] {
        self.draft.hosts.as_deref().unwrap_or_default()
    }

    /// Keeps serving for so long after being asked to stop; the longest of all wins.
    pub fn lameduck(&mut self, plugin: &'static str, duration: Duration) {
        let longer = self.common.lameduck.is_none_or(|(_, known)| duration > known);
        if longer {
            self.common.lameduck = Some((plugin, duration));
        }
    }

    /// Answers HTTP requests for a path on an address. The server owns the socket.
    pub fn http(&mut self, route: Route) {
        self.common.routes.push(route);
    }

    /// Has everything on an HTTP address served over TLS.
    pub fn http_tls(&mut self, addr: &str, tls: TlsSource) {
        self.common.http_tls.insert(addr.to_owned(), tls);
    }

    /// Has work done at an interval while the configuration serves.
    pub fn every(
        &mut self,
        what: impl Into<String>,
        interval: Duration,
        work: impl Fn() + Send + Sync + 'static,
    ) {
        self.common.tasks.push(Periodic { what: what.into(), interval, work: Arc::new(work) });
    }

    /// Has the Corefile looked at for changes.
    pub fn poll_corefile(&mut self, poll: CorefilePoll) {
        self.common.poll = Some(poll);
    }

    /// The SHA-512 of the parsed Corefile, in hexadecimal.
    pub fn digest(&self) -> &str {
        &self.common.digest
    }

    /// A value that all plugins of this configuration asking for this type and key have in common.
    pub fn shared<T: Send + Sync + 'static>(&mut self, key: &str, make: impl FnOnce() -> T) -> Arc<T> {
        self.common.shared.get(None, key, make)
    }

    /// A value that outlives this configuration: the next one finds it if it asks for the same type and key, and
    /// so does this one with what the running one has. The key must say all that the value depends on. It may be in
    /// use, and this configuration may never serve, so that setup must not change it.
    pub fn kept<T: Send + Sync + 'static>(&mut self, key: &str, make: impl FnOnce() -> T) -> Arc<T> {
        self.common.kept.get(Some(&self.common.running), key, make)
    }

    /// A text that is the same for as long as the plugins behind this one give the same answers: it says where the
    /// block is served, what is written about those plugins, and whether a file was changed that any plugin reads.
    pub fn below(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(ToString::to_string).collect();
        let (hosts, root, files) = (&self.draft.hosts, self.root(), self.common.files.generation());
        let place = format!("{keys:?} {hosts:?} {root:?} {files}");
        fingerprint::below(&place, self.block, self.later)
    }

    /// Something the user should know that is no error.
    pub fn warn(&mut self, warning: Diagnostic) {
        self.common.warnings.push(warning);
    }

    /// "This plugin can only be used once per Server Block."
    pub fn once_error(&self) -> Diagnostic {
        self.c.bare_err(ONCE)
    }
}

/// The finished blocks, for plugins that work with others.
pub struct Link<'a> {
    pub(crate) block: &'a Arc<Block>,
    pub(crate) served: &'a [(String, String)],
}

impl Link<'_> {
    /// All plugins of the linked plugin's own block.
    pub fn block(&self) -> &Arc<Block> {
        self.block
    }

    /// Where the block is served: pairs of server (`dns://:53`) and zone, as metrics label them.
    pub fn served(&self) -> &[(String, String)] {
        self.served
    }
}
