//! Tables of queries and answers on manifests in a folder.

mod api_server;
mod external_names;
mod multicluster;
mod name_servers;
mod namespaces;
mod options;
mod pods;
mod reasons;
mod reverse;
mod shared;
mod shop;
mod specification;
mod startup;
mod wildcards;
mod zonal;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use server::{Config, ExplainedReply, Service};
use tempfile::TempDir;

use crate::testing::harness::{ask, configure, present};

/// A server that reads a folder of manifests.
pub(crate) struct Served {
    pub folder: TempDir,
    config: Config,
    /// Names of objects that the API server rejected; queries for them are skipped.
    skipped: Vec<String>,
}

/// `FOLDER` in the Corefile stands for the folder of the manifests.
pub(crate) fn serve(corefile: &str, manifests: &str) -> Served {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cluster.yaml"), manifests).unwrap();
    match api_server::source(manifests) {
        Some((source, skipped)) => {
            let corefile = corefile.replace("manifests FOLDER", &source);
            Served { skipped, ..serve_folder(&corefile, folder) }
        }
        None => serve_folder(corefile, folder),
    }
}

fn serve_folder(corefile: &str, folder: TempDir) -> Served {
    let config = configure(&in_folder(corefile, folder.path())).unwrap();
    config.prepare().unwrap();
    Served { folder, config, skipped: Vec::new() }
}

fn in_folder(corefile: &str, folder: &Path) -> String {
    corefile.replace("FOLDER", &folder.display().to_string())
}

impl Served {
    pub(crate) fn service(&self) -> &Arc<Service> {
        self.config.services().next().unwrap().1
    }

    pub fn ask(&self, question: &str) -> ExplainedReply {
        ask(self.service(), question)
    }

    /// An answer in the form of the tables: without the flags of an authoritative reply, and with only the owner of an
    /// SOA record, whose data has its own test.
    pub fn answer(&self, question: &str) -> String {
        let text = present(&self.ask(question));
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default();
        let (rcode, flags) = head.split_once(' ').unwrap_or((head, ""));
        let mut shown = rcode.to_owned();
        match flags {
            "qr,aa" => {}
            "qr,aa,tc" => shown.push_str(" truncated"),
            flags => shown.push_str(&format!(" {flags}")),
        }
        let mut rest = String::new();
        for line in lines {
            let mut words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["authority:", owner, _, "IN", "SOA", ..] => shown.push_str(&format!(", SOA {owner}")),
                ["answer:", _, _, "IN", "SOA", ..] => {
                    words[7] = "SERIAL";
                    rest.push_str(&format!("{}\n", words[1..].join(" ")));
                }
                _ => rest.push_str(&format!("{}\n", line.strip_prefix("answer: ").unwrap_or(line))),
            }
        }
        format!("{shown}\n{rest}")
    }
}

/// A table: each query starts a line, its answer is indented below. Records may be in any order.
pub(crate) fn check(corefile: &str, manifests: &str, table: &str) {
    check_on(&serve(corefile, manifests), table);
}

pub(crate) fn check_on(served: &Served, table: &str) {
    let mut cases: Vec<(&str, Vec<String>)> = Vec::new();
    for line in table.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        match (line.strip_prefix("    "), cases.last_mut()) {
            (Some(expected), Some((_, answer))) => answer.push(expected.trim_end().to_owned()),
            _ => cases.push((line, Vec::new())),
        }
    }
    assert!(!cases.is_empty());
    let mut wrong = String::new();
    let is_queried = |question: &str| !served.skipped.iter().any(|name| question.contains(name.as_str()));
    for (question, mut expected) in cases.into_iter().filter(|(question, _)| is_queried(question)) {
        let mut got: Vec<String> = served.answer(question).lines().map(str::to_owned).collect();
        let sort = |lines: &mut Vec<String>| lines.get_mut(1..).unwrap_or_default().sort();
        sort(&mut got);
        sort(&mut expected);
        if got != expected {
            let lines = |lines: &[String]| lines.join("\n    ");
            wrong.push_str(&format!(
                "{question}\n  got\n    {}\n  expected\n    {}\n",
                lines(&got),
                lines(&expected)
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// A block for the cluster's zone and all reverse zones, with these options.
fn block(options: &str) -> String {
    format!(
        ".:53 {{\nkubernetes cluster.local in-addr.arpa ip6.arpa {{\nmanifests FOLDER\n{options}\n}}\n}}\n"
    )
}
