//! `transfer to`, once an option of each plugin that serves zones, is a separate plugin since CoreDNS 1.8.

use corefile::{Stanza, Token};

use super::lines::source_text;
use super::script::{Script, Site};

pub(super) fn migrate(script: &mut Script<'_>, site: &Site<'_>) {
    // `transfer from` of secondary still exists.
    let is_to = |line: &&[Token]| matches!(line, [_, to, _, ..] if &*to.text == "to");
    let lines: Vec<&[Token]> = site.lines.properties_named("transfer").filter(is_to).collect();
    let Some(first) = lines.first().and_then(|line| line.first()) else { return };
    let mut line = "transfer".to_owned();
    // The first argument of file is the zone file, not a zone.
    let zones = site.lines.args.get(usize::from(site.name() == "file")..).unwrap_or_default();
    if !zones.is_empty() {
        line.push(' ');
        line.push_str(&source_text(zones));
    }
    let to: Vec<String> = lines.iter().filter_map(|line| Some(source_text(line.get(2..)?))).collect();
    let to = format!("to {}", to.join(" "));
    let what = format!("'transfer to' became '{line} {{ {to} }}'");
    script.report(first, what, "since CoreDNS 1.8 the plugin 'transfer' serves zone transfers");
    for line in lines {
        script.delete_line(line);
    }
    script.insert_after(site, Stanza::new(line).property(to));
}
