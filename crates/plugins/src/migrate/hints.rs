//! Notes about things that a migration does not change.

use corefile::{Document, Item, ItemKind, Token};

use super::lines::{Lines, source_text};
use super::script::{Script, sites};

/// Plugins that kubeadm now puts into every Corefile, and their purpose.
const RECOMMENDED: &[(&str, &str)] = &[
    ("ready", "it reports readiness to Kubernetes"),
    ("loop", "it detects forwarding loops at startup"),
    ("reload", "it applies changes of the Corefile"),
];

/// Plugins that CoreDNS removed without an automatic replacement.
const REMOVED_PLUGINS: &[(&str, &str)] =
    &[("reverse", "'reverse' was removed in CoreDNS 1.2 and is kept as it is: replace it by 'template'")];

const WILDCARDS: &str =
    "'kubernetes' answers queries for * and any, as CoreDNS did up to 1.8, only with the option 'wildcards'";

pub(super) fn add(script: &mut Script<'_>, document: &Document) {
    let has_plugin = |name: &str| document.items().iter().any(|item| item.find_plugin(name).is_some());
    for (_, block) in document.blocks() {
        let kubernetes = block.find_plugin("kubernetes").and_then(|at| Lines::of(block.plugins.get(at)?));
        let Some(kubernetes) = kubernetes else { continue };
        for (name, purpose) in RECOMMENDED {
            if !has_plugin(name) {
                let text = format!("'{name}' is missing: {purpose}; kubeadm's Corefile has it");
                script.note(line_of(block), text);
            }
        }
        // Only old files may still depend on wildcards.
        if !script.is_empty() && kubernetes.properties_named("wildcards").next().is_none() {
            script.note(kubernetes.name.line(), WILDCARDS);
        }
    }
    for site in sites(document) {
        let (name, args) = (site.lines.name, site.lines.args);
        if let Some((_, text)) = REMOVED_PLUGINS.iter().find(|(gone, _)| *gone == site.name()) {
            script.note(name.line(), *text);
        }
        match (site.name(), args) {
            ("log", args) if args.iter().any(|arg| &*arg.text == "stdout") => {
                script.note(name.line(), "'log' reads 'stdout' as a zone name since CoreDNS 1.0; remove it");
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

/// Notes imports of other files, which are migrated separately; snippets of this file are migrated with it.
fn import(script: &mut Script<'_>, document: &Document, at: &Token, args: &[Token]) {
    let is_snippet = |arg: &Token| {
        let key = format!("({})", arg.text);
        document.items().iter().any(|item| {
            item.kind == ItemKind::Snippet && item.keys.first().is_some_and(|own| *own.text == *key)
        })
    };
    if !args.iter().any(is_snippet) {
        let text =
            format!("'import {}' is not followed; migrate the imported files separately", source_text(args));
        script.note(at.line(), text);
    }
}

fn line_of(item: &Item) -> u32 {
    item.keys.first().map_or(0, Token::line)
}
