//! Migrates old configurations: Corefiles for any CoreDNS since 1.0, and kube-dns's ConfigMap.
//!
//! ```text
//! text ─input─→ Corefile ───────────────────┐
//!            └→ ConfigMap ┬─ Corefile ──────┴→ Document ─PLUGINS─→ Script ─→ result, changes, notes
//!                         └─ kube-dns's keys ─kube_dns─────────────────────→ result, changes, notes
//! ```
//!
//! Only outdated directives change; comments, order and layout stay. One function per plugin and kind of change adds edits
//! to a [`Script`](script::Script), which applies them at the end, so that all reported line numbers are those of the
//! input.

mod auto;
mod config_map;
mod events;
mod hints;
mod input;
mod kube_dns;
mod kubernetes;
mod lines;
mod proxy;
mod removed;
mod script;
#[cfg(test)]
mod tests;
mod text;
mod transfer;

use corefile::{Diagnostic, Document};

use input::Input;
use script::{Script, Site};

/// The result of a migration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    /// The file that line numbers refer to.
    pub file: String,
    /// The migrated Corefile.
    pub result: String,
    /// In the order of the file.
    pub changes: Vec<Change>,
    pub notes: Vec<Note>,
}

/// One difference between the input and the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// In the input.
    pub line: u32,
    pub what: String,
    pub why: String,
}

/// Advice about something that the migration does not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub line: u32,
    pub text: String,
}

/// Adds one kind of change of one plugin to a script.
type Migration = fn(&mut Script<'_>, &Site<'_>);

/// The kinds of change, by plugin. A plugin may have several.
const PLUGINS: &[(&str, Migration)] = &[
    ("proxy", proxy::migrate),
    ("kubernetes", kubernetes::migrate),
    ("kubernetes", transfer::migrate),
    ("file", transfer::migrate),
    ("file", auto::no_reload),
    ("auto", transfer::migrate),
    ("auto", auto::no_reload),
    ("auto", auto::timeout),
    ("secondary", transfer::migrate),
    ("startup", events::migrate),
    ("shutdown", events::migrate),
];

/// Reads a Corefile, a ConfigMap with a Corefile, or kube-dns's ConfigMap, and returns an equivalent current Corefile.
/// `name` is for messages.
pub fn migrate(name: &str, text: &str) -> Result<Migrated, Diagnostic> {
    match input::detect(text) {
        Input::Corefile => corefile(name, text),
        Input::ConfigMap => config_map::migrate(name, text),
    }
}

fn corefile(name: &str, text: &str) -> Result<Migrated, Diagnostic> {
    let document = Document::parse_named(name, text)?;
    let mut script = Script::new(&document);
    for site in script::sites(&document) {
        for (_, migrate) in PLUGINS.iter().filter(|(plugin, _)| *plugin == site.name()) {
            migrate(&mut script, &site);
        }
        removed::migrate(&mut script, &site);
        script.finish_plugin(&site);
    }
    hints::add(&mut script, &document);
    script.run()
}
