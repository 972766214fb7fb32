//! How often `file` and `auto` look for changes: `reload` alone says it since CoreDNS 1.5.

use super::lines::texts;
use super::script::{Script, Site};

const RELOAD: &str = "since CoreDNS 1.5 'reload' says how often to look for changes";

pub(super) fn no_reload(script: &mut Script<'_>, site: &Site<'_>) {
    let mut reload_is_there = site.lines.properties_called("reload").next().is_some();
    for property in site.lines.properties_called("no_reload") {
        // The old word won over an interval, and only one can stay.
        if std::mem::replace(&mut reload_is_there, true) {
            script.remove(property, RELOAD);
        } else if let Some(token) = property.first() {
            script.tell(token, "'no_reload' became 'reload 0'", RELOAD);
            script.replace_line(property, "reload 0");
        }
    }
}

/// `directory DIR REGEXP TEMPLATE SECONDS`
pub(super) fn timeout(script: &mut Script<'_>, site: &Site<'_>) {
    let mut reload_is_there =
        ["reload", "no_reload"].iter().any(|word| site.lines.properties_called(word).next().is_some());
    for property in site.lines.properties_called("directory") {
        let [_, _, _, template, timeout] = property else { continue };
        let seconds = timeout.text.bytes().all(|byte| byte.is_ascii_digit());
        let interval = format!("reload {}{}", timeout.text, if seconds { "s" } else { "" });
        script.replace(template.span.end..timeout.span.end, "");
        let what =
            format!("the interval '{}' of 'directory' became '{interval}'", texts(&property[4..]).join(" "));
        script.tell(timeout, what, RELOAD);
        if !std::mem::replace(&mut reload_is_there, true) {
            script.add_below(property, &interval);
        }
    }
}
