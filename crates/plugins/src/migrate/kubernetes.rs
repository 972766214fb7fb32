//! Options of `kubernetes` that have another form today.

use corefile::{Stanza, Token, quote};

use super::lines::{source_text, texts};
use super::script::{Script, Site};

pub(super) fn migrate(script: &mut Script<'_>, site: &Site<'_>) {
    endpoint(script, site);
    federation(script, site);
    cidrs(script, site);
    autopath(script, site);
}

/// Several API servers, separated by spaces or commas, were once tried in turn.
fn endpoint(script: &mut Script<'_>, site: &Site<'_>) {
    for property in site.lines.properties_named("endpoint") {
        let [word, first, rest @ ..] = property else { continue };
        let url = first.text.split(',').next().unwrap_or_default();
        if rest.is_empty() && *url == *first.text {
            continue;
        }
        let Some(url) = quote(url) else { continue };
        let what = format!("'{}' became 'endpoint {url}'", source_text(property));
        script.report(
            word,
            what,
            "CoreDNS 1.4 and later use the first endpoint only; use a load balancer for several",
        );
        script.replace_line(property, format!("endpoint {url}"));
    }
}

/// Options of the plugin `federation`, beside the names of federations.
const FEDERATION_OPTIONS: [&str; 3] = ["upstream", "zone", "region"];

/// `federation NAME DOMAIN`, a separate plugin since before CoreDNS 1.0.
fn federation(script: &mut Script<'_>, site: &Site<'_>) {
    let lines: Vec<&[Token]> = site.lines.properties_named("federation").collect();
    let mut stanza = Stanza::new(with_zones("federation", site));
    let mut moved = false;
    for line in lines {
        let [word, name, domain] = line else { continue };
        if FEDERATION_OPTIONS.contains(&&*name.text) {
            script.remove(
                line,
                "the plugin 'federation' has an option of this name, which no federation can have",
            );
            continue;
        }
        let member = source_text(&[name.clone(), domain.clone()]);
        script.report(
            word,
            format!("'{}' moved to the plugin 'federation'", source_text(line)),
            "it is a separate plugin since CoreDNS 011",
        );
        script.delete_line(line);
        stanza = stanza.property(member);
        moved = true;
    }
    if moved {
        script.insert_after(site, stanza);
    }
}

/// `cidrs CIDR...`: reverse zones are now among the other zones.
fn cidrs(script: &mut Script<'_>, site: &Site<'_>) {
    for property in site.lines.properties_named("cidrs") {
        let Some((word, cidrs)) = property.split_first() else { continue };
        let why = "reverse zones are listed with the other zones since CoreDNS 011";
        match site.lines.args.last() {
            Some(last) => {
                let what = format!("'{}' moved to the zones of 'kubernetes'", source_text(property));
                script.report(word, what, why);
                script.delete_line(property);
                script.replace(last.span.end..last.span.end, format!(" {}", source_text(cidrs)));
            }
            // Without zones the plugin serves those of the block, and gets queries for no others.
            None => script.remove(property, why),
        }
    }
}

/// `autopath [NDOTS [RESPONSE [RESOLVCONF]]]`
fn autopath(script: &mut Script<'_>, site: &Site<'_>) {
    for (count, property) in site.lines.properties_named("autopath").enumerate() {
        let Some(word) = property.first() else { continue };
        let what = format!("'{}' became the plugin 'autopath @kubernetes'", source_text(property));
        script.report(word, what, "it is a separate plugin since CoreDNS 011");
        script.delete_line(property);
        if count == 0 {
            script.insert_after(site, Stanza::new("autopath @kubernetes"));
        }
        let verified = site.lines.properties_named("pods").any(|line| texts(line) == ["pods", "verified"]);
        if !verified {
            script.note(word.line(), "'autopath @kubernetes' needs 'pods verified'");
        }
    }
}

fn with_zones(plugin: &str, site: &Site<'_>) -> String {
    match site.lines.args {
        [] => plugin.to_owned(),
        zones => format!("{plugin} {}", source_text(zones)),
    }
}
