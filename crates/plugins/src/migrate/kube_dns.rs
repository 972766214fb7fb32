//! Translates kube-dns's ConfigMap into a Corefile as the Kubernetes documentation describes it: kubeadm's Corefile, with
//! a server block per stub domain, the upstream name servers, and federations.

use std::collections::BTreeMap;

use corefile::{Diagnostic, Document, NewBlock, Place, Stanza};
use serde::de::DeserializeOwned;
use serde_saphyr::Spanned;

use super::config_map::Data;
use super::{Change, Migrated, Note};

/// kubeadm's Corefile for the cluster domain `cluster.local`.
const KUBEADM: &str = "\
.:53 {
    errors
    health {
        lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
        max_concurrent 1000
    }
    cache 30 {
        disable success cluster.local
        disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
";

pub(super) fn translate(name: &str, data: &Data) -> Result<Migrated, Diagnostic> {
    let mut corefile =
        Translation { document: Document::parse(KUBEADM)?, changes: Vec::new(), notes: Vec::new() };
    corefile.note(1, "the ConfigMap does not contain the cluster domain; assumed cluster.local");
    let at = |error: String| Diagnostic::error(format!("{name}: {error}"));
    if let Some(value) = &data.upstream_nameservers {
        let servers: Vec<String> = json("upstreamNameservers", value).map_err(at)?;
        corefile.upstreams(line(value), &servers)?;
    }
    if let Some(value) = &data.federations {
        corefile.federations(line(value), &federations(value).map_err(at)?)?;
    }
    if let Some(value) = &data.stub_domains {
        corefile.stub_domains(line(value), &json("stubDomains", value).map_err(at)?)?;
    }
    let Translation { document, mut changes, notes } = corefile;
    changes.sort_by_key(|change| change.line);
    Ok(Migrated { file: name.to_owned(), result: document.to_string(), changes, notes })
}

struct Translation {
    document: Document,
    changes: Vec<Change>,
    notes: Vec<Note>,
}

impl Translation {
    /// `["8.8.8.8", "8.8.4.4"]`: used instead of the node's name servers.
    fn upstreams(&mut self, line: u32, servers: &[String]) -> Result<(), Diagnostic> {
        let Some(forward) = self.document.items().first().and_then(|block| block.find_plugin("forward"))
        else {
            return Ok(());
        };
        if servers.is_empty() {
            return Ok(());
        }
        let stanza = Stanza::words(["forward", "."].into_iter().chain(servers.iter().map(String::as_str)))?;
        self.document.replace_plugin(0, forward, &stanza.property("max_concurrent 1000"))?;
        self.report(
            line,
            format!("'upstreamNameservers' became 'forward . {}'", servers.join(" ")),
            "names outside of the cluster are forwarded to these servers",
        );
        self.note_host_names(line, servers);
        Ok(())
    }

    /// `{"NAME": "DOMAIN"}`
    fn federations(&mut self, line: u32, members: &BTreeMap<String, String>) -> Result<(), Diagnostic> {
        let kubernetes = self.document.items().first().and_then(|block| block.find_plugin("kubernetes"));
        let (Some(kubernetes), false) = (kubernetes, members.is_empty()) else { return Ok(()) };
        let mut stanza = Stanza::new("federation cluster.local");
        for (name, domain) in members {
            stanza = stanza.property(words(&[name, domain])?);
        }
        self.document.insert_plugin(0, Place::After(kubernetes), &stanza)?;
        self.report(
            line,
            "'federations' became the plugin 'federation'",
            "it answers for federated services",
        );
        self.note(
            line,
            "set 'zone' and 'region' of the cluster in 'federation'; kube-dns read them from its node",
        );
        Ok(())
    }

    /// `{"DOMAIN": ["SERVER", ...]}`: a server block each.
    fn stub_domains(&mut self, line: u32, domains: &BTreeMap<String, Vec<String>>) -> Result<(), Diagnostic> {
        for (domain, servers) in domains {
            if servers.is_empty() {
                self.note(line, format!("stub domain {domain} has no servers and was skipped"));
                continue;
            }
            let key = words(&[&format!("{}:53", domain.trim_end_matches('.'))])?;
            let forward = ["forward", "."].into_iter().chain(servers.iter().map(String::as_str));
            let block = ["errors", "cache 30", "loop"]
                .into_iter()
                .fold(NewBlock::new([&key]), |block, plugin| block.plugin(Stanza::new(plugin)))
                .plugin(Stanza::words(forward)?);
            self.document.insert_block(Place::End, &block)?;
            self.report(
                line,
                format!("stub domain {domain} became the server block '{key}'"),
                format!("its names are forwarded to {}", servers.join(" ")),
            );
            self.note_host_names(line, servers);
        }
        Ok(())
    }

    /// kube-dns resolved host names of servers repeatedly, forward resolves them when the Corefile is loaded.
    fn note_host_names(&mut self, line: u32, servers: &[String]) {
        for server in servers.iter().filter(|server| !begins_with_address(server)) {
            self.note(
                line,
                format!("{server} is a host name: it is resolved only when the Corefile is loaded"),
            );
        }
    }

    fn report(&mut self, line: u32, what: impl Into<String>, why: impl Into<String>) {
        self.changes.push(Change { line, what: what.into(), why: why.into() });
    }

    fn note(&mut self, line: u32, text: impl Into<String>) {
        self.notes.push(Note { line, text: text.into() });
    }
}

/// Parses JSON with the YAML parser.
fn json<T: DeserializeOwned>(key: &str, value: &Spanned<String>) -> Result<T, String> {
    // YAML restricts tabs; in JSON they are only white space between tokens.
    serde_saphyr::from_str(&value.value.replace('\t', " ")).map_err(|error| format!("data.{key}: {error}"))
}

/// JSON, or `NAME=DOMAIN,...` as on kube-dns's command line.
fn federations(value: &Spanned<String>) -> Result<BTreeMap<String, String>, String> {
    let text = value.value.trim();
    if text.starts_with('{') {
        return json("federations", value);
    }
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, domain)) => Ok((name.trim().to_owned(), domain.trim().to_owned())),
        None => Err(format!("data.federations: '{pair}' is not NAME=DOMAIN")),
    };
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(pair).collect()
}

fn words(words: &[&str]) -> Result<String, Diagnostic> {
    let quoted = |word: &&str| {
        corefile::quote(word)
            .ok_or_else(|| Diagnostic::error(format!("{word:?} cannot be written in a Corefile")))
    };
    Ok(words.iter().map(quoted).collect::<Result<Vec<_>, _>>()?.join(" "))
}

/// `1.2.3.4`, `1.2.3.4:53`, `::1`, `[::1]:53`
fn begins_with_address(server: &str) -> bool {
    server.parse::<std::net::IpAddr>().is_ok() || server.parse::<std::net::SocketAddr>().is_ok()
}

fn line(value: &Spanned<String>) -> u32 {
    u32::try_from(value.referenced.line()).unwrap_or(0)
}
