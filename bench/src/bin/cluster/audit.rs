//! Finds the lists of each server in the API server's audit log.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;
use testkit::Kind;
use testkit::cluster::objects::text;
use testkit::error::{Context, Result};

/// The kinds that both servers watch.
pub const WATCHED_KINDS: [&str; 3] = ["namespaces", "services", "endpointslices"];

/// The current size of the log.
pub fn end(log: &Path) -> Result<u64> {
    Ok(std::fs::metadata(log).context(log.display())?.len())
}

/// The servers and the kinds they listed after this offset in the log.
pub fn lists(log: &Path, from: u64) -> Result<BTreeSet<(&'static str, &'static str)>> {
    let mut file = File::open(log).context(log.display())?;
    // A log that has become too long is rotated.
    let from = if file.metadata()?.len() < from { 0 } else { from };
    file.seek(SeekFrom::Start(from))?;
    let mut lines = Vec::new();
    file.read_to_end(&mut lines)?;
    Ok(String::from_utf8_lossy(&lines).lines().filter_map(listed).collect())
}

/// The server and the kind, if this line is a served list, plain or streamed.
fn listed(line: &str) -> Option<(&'static str, &'static str)> {
    let agents = [("rhumb/", Kind::Rhumb), ("CoreDNS/", Kind::CoreDns)];
    // Most lines are of other clients; parses only those of servers.
    if !agents.iter().any(|(agent, _)| line.contains(agent)) {
        return None;
    }
    let entry: Value = serde_json::from_str(line).ok()?;
    let (_, server) = agents.iter().find(|(agent, _)| text(&entry, "/userAgent").starts_with(agent))?;
    let kind = WATCHED_KINDS.iter().find(|kind| **kind == text(&entry, "/objectRef/resource"))?;
    let all = match (text(&entry, "/verb"), text(&entry, "/stage")) {
        ("list", "ResponseComplete") => true,
        // A watch is logged at its end as well, which may be much later.
        ("watch", "ResponseStarted") => text(&entry, "/requestURI").contains("sendInitialEvents=true"),
        _ => false,
    };
    let served = entry.pointer("/responseStatus/code").and_then(Value::as_u64) == Some(200);
    (all && served).then_some((server.name(), kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_that_were_served_count() {
        let line = |agent: &str, verb: &str, stage: &str, uri: &str, code: u16| {
            serde_json::json!({
                "verb": verb,
                "stage": stage,
                "requestURI": uri,
                "userAgent": agent,
                "objectRef": {"resource": "services"},
                "responseStatus": {"code": code},
            })
            .to_string()
        };
        let (ours, theirs) = ("rhumb/0.1.0", "CoreDNS/1.15.0 git");
        let (started, complete) = ("ResponseStarted", "ResponseComplete");
        let (plain, resumed) = ("/api/v1/services", "/api/v1/services?watch=true&resourceVersion=9");
        let streamed = "/api/v1/services?watch=true&sendInitialEvents=true";
        for (line, expected) in [
            (line(ours, "watch", started, streamed, 200), Some(("rhumb", "services"))),
            (line(theirs, "list", complete, plain, 200), Some(("coredns", "services"))),
            (line(theirs, "watch", started, resumed, 200), None),
            (line(ours, "watch", complete, streamed, 200), None),
            (line(ours, "watch", started, streamed, 403), None),
            (line("kubectl/1.36", "list", complete, plain, 200), None),
            ("rhumb/ is no JSON".to_owned(), None),
        ] {
            assert_eq!(listed(&line), expected, "{line}");
        }
    }
}
