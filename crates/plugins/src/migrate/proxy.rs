//! `proxy` is `forward` since CoreDNS 1.5. Options of it that are simply gone are in the table of `removed.rs`.

use corefile::{Token, normalize_exact};
use golang::GoDuration;
use wire::NameBuf;

use super::lines::texts;
use super::script::{Script, Site};

pub(super) fn migrate(script: &mut Script<'_>, site: &Site<'_>) {
    let name = site.lines.name;
    script.tell(name, "'proxy' became 'forward'", "CoreDNS 1.5 removed it");
    script.replace(name.span.range(), "forward");
    for property in &site.lines.properties {
        match texts(property)[..] {
            ["policy", old] => policy(script, property, old),
            ["health_check", first, ..] => health_check(script, property, first),
            ["protocol", ref words @ ..] => protocol(script, property, words),
            ["timeout", _] => {
                let Some(word) = property.first() else { continue };
                script.tell(word, "'timeout' became 'read_timeout'", "forward calls it so");
                script.replace(word.span.range(), "read_timeout");
            }
            _ => {}
        }
    }
    leave_to_later(script, site);
}

/// Old policies, and what is nearest to them.
const POLICIES: &[(&str, &str, &str)] = &[
    ("least_conn", "random", "forward counts no connections"),
    ("first", "sequential", "forward calls it so"),
    ("always_first", "sequential", "forward calls it so"),
];

fn policy(script: &mut Script<'_>, property: &[Token], old: &str) {
    let Some((_, new, why)) = POLICIES.iter().find(|(name, ..)| *name == old) else { return };
    if let [word, ..] = property {
        script.tell(word, format!("'policy {old}' became 'policy {new}'"), *why);
        script.replace_line(property, format!("policy {new}"));
    }
}

/// `health_check PATH:PORT [DURATION]`; forward's own form begins with a duration.
fn health_check(script: &mut Script<'_>, property: &[Token], first: &str) {
    if first.contains('/') && GoDuration::parse(first).is_err() {
        script.remove(property, "forward checks upstreams with a DNS query, and only when they fail");
    }
}

fn protocol(script: &mut Script<'_>, property: &[Token], words: &[&str]) {
    let Some(word) = property.first() else { return };
    match words {
        ["dns", "force_tcp"] => {
            script.tell(word, "'protocol dns force_tcp' became 'force_tcp'", "forward calls it so");
            script.replace_line(property, "force_tcp");
        }
        ["dns"] => script.remove(property, "plain DNS is what forward speaks"),
        ["https_google", ..] => script.remove(
            property,
            "it is gone since CoreDNS 1.2, and queries go to TO in plain DNS; with https://8.8.8.8 there they stay encrypted",
        ),
        ["grpc", ..] => script.remove(
            property,
            "since CoreDNS 1.5 the plugin 'grpc' does that, and this line speaks plain DNS; write 'grpc' for 'forward' if TO expects it",
        ),
        _ => {}
    }
}

/// Of several `proxy` lines in one block the one with the longest FROM answered; of several `forward` lines the first
/// that fits does. So a line before more special ones has to leave their names to them.
fn leave_to_later(script: &mut Script<'_>, site: &Site<'_>) {
    let Some(own) = site.lines.args.first() else { return };
    let special: Vec<String> = site
        .later()
        .filter(|other| matches!(&*other.name.text, "proxy" | "forward"))
        .filter_map(|other| other.args.first())
        .filter(|from| is_below(from, own))
        .map(|from| from.span.raw().to_owned())
        .collect();
    if special.is_empty() {
        return;
    }
    let except = format!("except {}", special.join(" "));
    script.tell(
        site.lines.name,
        format!("added '{except}'"),
        "of several 'forward' the first that fits answers, of several 'proxy' the most special did",
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
