//! `transfer to`, once an option of each plugin that serves zones, is a plugin of its own since CoreDNS 1.8.

use corefile::{Stanza, Token};

use super::lines::written;
use super::script::{Script, Site};

pub(super) fn migrate(script: &mut Script<'_>, site: &Site<'_>) {
    // `transfer from` of secondary is still there.
    let is_to = |line: &&[Token]| matches!(line, [_, to, _, ..] if &*to.text == "to");
    let lines: Vec<&[Token]> = site.lines.properties_called("transfer").filter(is_to).collect();
    let Some(first) = lines.first().and_then(|line| line.first()) else { return };
    let mut line = "transfer".to_owned();
    // The first argument of file is no zone but where the zone is.
    let zones = site.lines.args.get(usize::from(site.name() == "file")..).unwrap_or_default();
    if !zones.is_empty() {
        line.push(' ');
        line.push_str(&written(zones));
    }
    let to: Vec<String> = lines.iter().filter_map(|line| Some(written(line.get(2..)?))).collect();
    let to = format!("to {}", to.join(" "));
    let what = format!("'transfer to' became '{line} {{ {to} }}'");
    script.tell(first, what, "since CoreDNS 1.8 a plugin of its own hands zones out");
    for line in lines {
        script.take_out(line);
    }
    script.insert_after(site, Stanza::new(line).property(to));
}
