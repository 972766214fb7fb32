//! `startup COMMAND` and `shutdown COMMAND` are events of the plugin `on` since CoreDNS 1.1.

use super::script::{Script, Site};

pub(super) fn migrate(script: &mut Script<'_>, site: &Site<'_>) {
    let token = site.lines.name;
    let what = format!("'{0}' became 'on {0}'", token.text);
    script.report(token, what, "CoreDNS 1.1 removed it: the plugin 'on' runs commands on events");
    script.replace(token.span.start..token.span.start, "on ");
}
