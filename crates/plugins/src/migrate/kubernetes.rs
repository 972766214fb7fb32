//! Options of `kubernetes` that are said otherwise today.

use corefile::{Stanza, Token, quote};

use super::lines::{texts, written};
use super::script::{Script, Site};

pub(super) fn migrate(script: &mut Script<'_>, site: &Site<'_>) {
    endpoint(script, site);
    federation(script, site);
    cidrs(script, site);
    autopath(script, site);
}

/// Several API servers were tried in turn once, written with spaces or commas between them.
fn endpoint(script: &mut Script<'_>, site: &Site<'_>) {
    for property in site.lines.properties_called("endpoint") {
        let [word, first, rest @ ..] = property else { continue };
        let url = first.text.split(',').next().unwrap_or_default();
        if rest.is_empty() && *url == *first.text {
            continue;
        }
        let Some(url) = quote(url) else { continue };
        let what = format!("'{}' became 'endpoint {url}'", written(property));
        script.tell(
            word,
            what,
            "CoreDNS 1.4 and later use the first endpoint only; put a balancer before several",
        );
        script.replace_line(property, format!("endpoint {url}"));
    }
}

/// `federation NAME DOMAIN`, a plugin of its own already before CoreDNS 1.0.
fn federation(script: &mut Script<'_>, site: &Site<'_>) {
    let lines: Vec<&[Token]> = site.lines.properties_called("federation").collect();
    let mut stanza = Stanza::new(with_zones("federation", site));
    let mut moved = false;
    for line in lines {
        let [word, name, domain] = line else { continue };
        let member = written(&[name.clone(), domain.clone()]);
        script.tell(
            word,
            format!("'{}' moved to the plugin 'federation'", written(line)),
            "it is a plugin of its own since CoreDNS 011",
        );
        script.take_out(line);
        stanza = stanza.property(member);
        moved = true;
    }
    if moved {
        script.insert_after(site, stanza);
    }
}

/// `cidrs CIDR...`: reverse zones stand beside the others today.
fn cidrs(script: &mut Script<'_>, site: &Site<'_>) {
    for property in site.lines.properties_called("cidrs") {
        let Some((word, cidrs)) = property.split_first() else { continue };
        let why = "reverse zones are named beside the others since CoreDNS 011";
        match site.lines.args.last() {
            Some(last) => {
                let what = format!("'{}' moved to the zones of 'kubernetes'", written(property));
                script.tell(word, what, why);
                script.take_out(property);
                script.replace(last.span.end..last.span.end, format!(" {}", written(cidrs)));
            }
            // Without zones it serves those of the block, and no others ever come.
            None => script.remove(property, why),
        }
    }
}

/// `autopath [NDOTS [RESPONSE [RESOLVCONF]]]`
fn autopath(script: &mut Script<'_>, site: &Site<'_>) {
    for (count, property) in site.lines.properties_called("autopath").enumerate() {
        let Some(word) = property.first() else { continue };
        let what = format!("'{}' became the plugin 'autopath @kubernetes'", written(property));
        script.tell(word, what, "it is a plugin of its own since CoreDNS 011");
        script.take_out(property);
        if count == 0 {
            script.insert_after(site, Stanza::new("autopath @kubernetes"));
        }
        let verified = site.lines.properties_called("pods").any(|line| texts(line) == ["pods", "verified"]);
        if !verified {
            script.note(word.line(), "'autopath @kubernetes' works with 'pods verified' only");
        }
    }
}

fn with_zones(plugin: &str, site: &Site<'_>) -> String {
    match site.lines.args {
        [] => plugin.to_owned(),
        zones => format!("{plugin} {}", written(zones)),
    }
}
