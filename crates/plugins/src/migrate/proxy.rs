//! `proxy` is `forward` since CoreDNS 1.5. Its options without a replacement are in the table of `removed.rs`.

use corefile::{Token, normalize_exact};
use golang::GoDuration;
use wire::NameBuf;

use super::lines::texts;
use super::script::{Script, Site};

pub(super) fn migrate(script: &mut Script<'_>, site: &Site<'_>) {
    let name = site.lines.name;
    script.report(name, "'proxy' became 'forward'", "CoreDNS 1.5 removed it");
    script.replace(name.span.range(), "forward");
    for property in &site.lines.properties {
        match texts(property)[..] {
            ["policy", old] => policy(script, property, old),
            ["health_check", first, ..] => health_check(script, property, first),
            ["protocol", ref words @ ..] => protocol(script, property, words),
            ["timeout", _] => {
                let Some(word) = property.first() else { continue };
                script.report(word, "'timeout' became 'read_timeout'", "forward's name for it");
                script.replace(word.span.range(), "read_timeout");
            }
            _ => {}
        }
    }
    except_nested_zones(script, site);
}

/// Old policies and the nearest ones of forward.
const POLICIES: &[(&str, &str, &str)] = &[
    ("least_conn", "random", "forward does not count connections"),
    ("first", "sequential", "forward's name for it"),
    ("always_first", "sequential", "forward's name for it"),
];

fn policy(script: &mut Script<'_>, property: &[Token], old: &str) {
    let Some((_, new, why)) = POLICIES.iter().find(|(name, ..)| *name == old) else { return };
    if let [word, ..] = property {
        script.report(word, format!("'policy {old}' became 'policy {new}'"), *why);
        script.replace_line(property, format!("policy {new}"));
    }
}

/// `health_check PATH:PORT [DURATION]`; forward's form begins with a duration.
fn health_check(script: &mut Script<'_>, property: &[Token], first: &str) {
    if first.contains('/') && GoDuration::parse(first).is_err() {
        script.remove(property, "forward checks upstreams with a DNS query, and only when they fail");
    }
}

fn protocol(script: &mut Script<'_>, property: &[Token], words: &[&str]) {
    let Some(word) = property.first() else { return };
    match words {
        ["dns", "force_tcp"] => {
            script.report(word, "'protocol dns force_tcp' became 'force_tcp'", "forward's name for it");
            script.replace_line(property, "force_tcp");
        }
        ["dns"] => script.remove(property, "forward uses plain DNS by default"),
        ["https_google", ..] => script.remove(
            property,
            "CoreDNS 1.2 removed it; queries now go to TO in plain DNS: write https://8.8.8.8 there to keep them encrypted",
        ),
        ["grpc", ..] => script.remove(
            property,
            "since CoreDNS 1.5 this is the plugin 'grpc'; 'forward' uses plain DNS: write 'grpc' instead if TO expects gRPC",
        ),
        _ => {}
    }
}

/// Of several `proxy` in a block the one with the longest FROM answered; of several `forward` the first match does. So
/// one that precedes others with longer zones needs `except` for these.
fn except_nested_zones(script: &mut Script<'_>, site: &Site<'_>) {
    let Some(own) = site.lines.args.first() else { return };
    let nested: Vec<String> = site
        .later()
        .filter(|other| matches!(&*other.name.text, "proxy" | "forward"))
        .filter_map(|other| other.args.first())
        .filter(|from| is_below(from, own))
        .map(|from| from.span.raw().to_owned())
        .collect();
    if nested.is_empty() {
        return;
    }
    let except = format!("except {}", nested.join(" "));
    script.report(
        site.lines.name,
        format!("added '{except}'"),
        "the first matching 'forward' answers; of several 'proxy' the one with the longest zone did",
    );
    script.add_property(site, &except);
}

fn is_below(one: &Token, other: &Token) -> bool {
    let name = |token: &Token| NameBuf::parse(normalize_exact(&token.text).first()?).ok();
    match (name(one), name(other)) {
        (Some(one), Some(other)) => one != other && one.as_name().is_under(other.as_name()),
        _ => false,
    }
}
