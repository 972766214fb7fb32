//! The reload interval of `file` and `auto`: since CoreDNS 1.5 it is set by `reload` only.

use super::lines::texts;
use super::script::{Script, Site};

const RELOAD: &str = "since CoreDNS 1.5 'reload' sets the interval of checks for changes";

pub(super) fn no_reload(script: &mut Script<'_>, site: &Site<'_>) {
    let mut has_reload = site.lines.properties_named("reload").next().is_some();
    for property in site.lines.properties_named("no_reload") {
        // `no_reload` took precedence over an interval, and only one option can stay.
        if std::mem::replace(&mut has_reload, true) {
            script.remove(property, RELOAD);
        } else if let Some(token) = property.first() {
            script.report(token, "'no_reload' became 'reload 0'", RELOAD);
            script.replace_line(property, "reload 0");
        }
    }
}

/// `directory DIR REGEXP TEMPLATE SECONDS`
pub(super) fn timeout(script: &mut Script<'_>, site: &Site<'_>) {
    let mut has_reload =
        ["reload", "no_reload"].iter().any(|word| site.lines.properties_named(word).next().is_some());
    for property in site.lines.properties_named("directory") {
        let [_, _, _, template, timeout] = property else { continue };
        let seconds = timeout.text.bytes().all(|byte| byte.is_ascii_digit());
        let interval = format!("reload {}{}", timeout.text, if seconds { "s" } else { "" });
        script.replace(template.span.end..timeout.span.end, "");
        let what =
            format!("the interval '{}' of 'directory' became '{interval}'", texts(&property[4..]).join(" "));
        script.report(timeout, what, RELOAD);
        if !std::mem::replace(&mut has_reload, true) {
            script.add_below(property, &interval);
        }
    }
}
