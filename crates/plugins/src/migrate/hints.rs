//! What a migration leaves to people: said, and nothing changed for it.

use corefile::{Document, Item, ItemKind, Token};

use super::lines::{Lines, written};
use super::script::{Script, sites};

/// Plugins that kubeadm puts into every Corefile by now, and what for.
const LATER: &[(&str, &str)] = &[
    ("ready", "tells Kubernetes when the server can serve"),
    ("loop", "finds forwarding loops at the start"),
    ("reload", "takes changes of the Corefile over"),
];

/// Plugins that are gone with nothing in their place that could be written down here.
const GONE: &[(&str, &str)] = &[(
    "reverse",
    "'reverse' is gone since CoreDNS 1.2: write its records as 'template'; it is left as it is",
)];

const WILDCARDS: &str =
    "'kubernetes' answers queries for * and any as CoreDNS did up to 1.8 with 'wildcards' only";

pub(super) fn add(script: &mut Script<'_>, document: &Document) {
    let plugin_is_there = |name: &str| document.items().iter().any(|item| item.find_plugin(name).is_some());
    for (_, block) in document.blocks() {
        let kubernetes = block.find_plugin("kubernetes").and_then(|at| Lines::of(block.plugins.get(at)?));
        let Some(kubernetes) = kubernetes else { continue };
        for (name, what) in LATER {
            if !plugin_is_there(name) {
                let text = format!("no '{name}' here, which {what}; kubeadm's Corefile has it");
                script.note(line_of(block), text);
            }
        }
        // Only who has an old file may still count on them.
        if !script.is_empty() && kubernetes.properties_called("wildcards").next().is_none() {
            script.note(kubernetes.name.line(), WILDCARDS);
        }
    }
    for site in sites(document) {
        let (name, args) = (site.lines.name, site.lines.args);
        if let Some((_, text)) = GONE.iter().find(|(gone, _)| *gone == site.name()) {
            script.note(name.line(), *text);
        }
        match (site.name(), args) {
            ("log", args) if args.iter().any(|arg| &*arg.text == "stdout") => {
                script.note(name.line(), "'log' takes 'stdout' for a name since CoreDNS 1.0; leave it out");
            }
            ("import", args) => import(script, document, name, args),
            _ => {}
        }
    }
    for item in document.items().iter().filter(|item| item.kind == ItemKind::Import) {
        if let Some(first) = item.keys.first() {
            import(script, document, first, &item.keys);
        }
    }
}

/// Files have to be migrated one by one; snippets of this file are done with it.
fn import(script: &mut Script<'_>, document: &Document, at: &Token, args: &[Token]) {
    let is_snippet = |arg: &Token| {
        let key = format!("({})", arg.text);
        document.items().iter().any(|item| {
            item.kind == ItemKind::Snippet && item.keys.first().is_some_and(|own| *own.text == *key)
        })
    };
    if !args.iter().any(is_snippet) {
        let text = format!("'import {}' is not followed; migrate what it brings in by itself", written(args));
        script.note(at.line(), text);
    }
}

fn line_of(item: &Item) -> u32 {
    item.keys.first().map_or(0, Token::line)
}
