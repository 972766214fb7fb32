//! Old configurations in today's words: Corefiles for any CoreDNS since 1.0, and kube-dns's ConfigMap.
//!
//! ```text
//! text ─input─→ Corefile ───────────────────┐
//!            └→ ConfigMap ┬─ Corefile ──────┴→ Document ─PLUGINS─→ Script ─→ result, changes, notes
//!                         └─ kube-dns's keys ─kube_dns─────────────────────→ result, changes, notes
//! ```
//!
//! Nothing but the old words is touched: comments, order and layout of the file stay as they are. What there is to
//! do is written down in a [`Script`](script::Script) first, by one function per plugin and kind of change, and then
//! done at once, so that every line number told is one of the file that was read.

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

/// What came of a migration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    /// The file whose lines are counted.
    pub file: String,
    /// The Corefile of today.
    pub result: String,
    /// What is different, from the top of the file.
    pub changes: Vec<Change>,
    /// What to know besides.
    pub notes: Vec<Note>,
}

/// One difference between the file that was read and the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// In the file that was read.
    pub line: u32,
    pub what: String,
    pub why: String,
}

/// Something that is left to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub line: u32,
    pub text: String,
}

/// Writes down one kind of change to one plugin.
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

/// Reads a Corefile, or a ConfigMap with one or of kube-dns, and writes the Corefile of today that does the same.
/// `name` is for messages.
pub fn migrate(name: &str, text: &str) -> Result<Migrated, Diagnostic> {
    match input::read(text) {
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
        script.leave(&site);
    }
    hints::add(&mut script, &document);
    script.run()
}
