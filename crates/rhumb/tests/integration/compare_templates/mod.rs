//! Generated templates and regular expressions have the same results in CoreDNS and in Rhumb.
//!
//! Many templates share a Corefile, one zone each; their results are TXT records. Invalid ones are tested one by one, and
//! the errors are compared. RHUMB_SEED repeats a run.

use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::client::{self, Transport};
use testkit::message::Message;
use testkit::peers::Peer;
use testkit::random::{Random, seed_from_env};
use testkit::verdict::{first_error, refusal};
use testkit::{DnsServer, Kind};

mod grammar;

const TEMPLATES: usize = 400;
const PATTERNS: usize = 300;
/// Each costs two processes.
const REFUSED: usize = 40;

#[test]
fn templates_have_equal_results() {
    let Some(_) = Peer::CoreDns.for_test() else { return };
    let mut random = Random::new(seed_from_env());
    let cases: Vec<Case> = (0..TEMPLATES).map(|i| grammar::template(&mut random, i)).collect();
    compare(cases);
}

#[test]
fn patterns_match_equally() {
    let Some(_) = Peer::CoreDns.for_test() else { return };
    let mut random = Random::new(seed_from_env());
    let cases: Vec<Case> = (0..PATTERNS).map(|i| grammar::pattern(&mut random, i)).collect();
    compare(cases);
}

/// A block of a Corefile, and the names to query.
struct Case {
    block: String,
    names: Vec<String>,
}

fn compare(cases: Vec<Case>) {
    // Rhumb checks each block separately; CoreDNS reports only the first error of a Corefile.
    let (taken, refused): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| is_accepted(&case.block));
    println!("{} taken, {} refused", taken.len(), refused.len());
    assert!(taken.len() > 100 && refused.len() > 5, "the grammar says too little");
    let mut wrong = Vec::new();
    for case in refused.iter().take(REFUSED) {
        let (left, right) = (verdict(Kind::CoreDns, &case.block), verdict(Kind::Rhumb, &case.block));
        // Go limits the size of its compiled expressions; our compiler differs.
        let too_large = left.as_ref().is_some_and(|line| line.contains(": expression too large: "));
        if left != right && !(too_large && right.is_some()) {
            wrong.push(format!("{}\n  CoreDNS: {left:?}\n  Rhumb:   {right:?}", case.block));
        }
    }
    wrong.extend(query_all(&taken));
    for text in wrong.iter().take(20) {
        println!("{text}");
    }
    assert_eq!(wrong.len(), 0, "of {}", taken.len());
}

/// Queries both servers, with all templates, for all names.
fn query_all(cases: &[Case]) -> Vec<String> {
    let start = |kind| {
        let blocks: String = cases.iter().map(|case| case.block.as_str()).collect();
        let corefile = format!(".:{{port}} {{\n bind 127.0.0.1\n errors\n{blocks}}}\n");
        DnsServer::start_on_free_port(kind, &corefile).unwrap_or_else(|error| panic!("{error}"))
    };
    let (coredns, rhumb) = (start(Kind::CoreDns), start(Kind::Rhumb));
    let mut wrong = Vec::new();
    for case in cases {
        for name in &case.names {
            let (left, right) = (ask(&coredns, name), ask(&rhumb, name));
            if left != right {
                wrong.push(format!("{}{name}\n  CoreDNS: {left}\n  Rhumb:   {right}", case.block));
            }
        }
    }
    // The logs have the same errors.
    std::thread::sleep(Duration::from_millis(300));
    let (left, right) = (errors(&coredns), errors(&rhumb));
    println!("{} errors", left.len());
    for line in left.iter().filter(|line| !right.contains(line)).take(10) {
        wrong.push(format!("only CoreDNS: {line}"));
    }
    for line in right.iter().filter(|line| !left.contains(line)).take(10) {
        wrong.push(format!("only Rhumb:   {line}"));
    }
    wrong
}

fn ask(server: &DnsServer, name: &str) -> String {
    let mut wire = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.trim_end_matches('.').split('.').filter(|label| !label.is_empty()) {
        wire.push(label.len() as u8);
        wire.extend(label.as_bytes());
    }
    wire.extend([0, 0, 16, 0, 1]);
    let outcome = client::query(server.addr(), Transport::Tcp, &wire, Duration::from_secs(3));
    match outcome.as_ref().ok().and_then(|outcome| outcome.reply()) {
        Some(reply) => shown(&Message::decode(reply)),
        None => "nothing".into(),
    }
}

/// The rcode and the answers as text.
fn shown(message: &Message) -> String {
    let mut text = format!("{} ", message.rcode());
    for record in &message.answer {
        text += &format!("{:?}", String::from_utf8_lossy(&record.rdata));
    }
    text
}

fn errors(server: &DnsServer) -> Vec<String> {
    let mark = "plugin/errors: ";
    let lines = server.process().lines();
    lines.iter().filter_map(|line| line.find(mark).map(|at| line[at + mark.len()..].to_owned())).collect()
}

/// Whether Rhumb accepts the block.
fn is_accepted(block: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("Corefile"), corefile(block)).expect("written");
    let binary = testkit::rhumb::binary().unwrap_or_else(|error| panic!("{error}"));
    let mut command = Command::new(binary);
    command
        .args(["check", "Corefile"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().expect("started").success()
}

/// None if the server accepts the block, otherwise its error.
fn verdict(kind: Kind, block: &str) -> Option<String> {
    let binary = match kind {
        Kind::CoreDns => Peer::CoreDns.locate(),
        Kind::Rhumb => testkit::rhumb::binary(),
    };
    let text = refusal(&binary.unwrap_or_else(|error| panic!("{error}")), &corefile(block))?;
    let line = text.lines().find(|line| line.contains("template: "));
    Some(line.unwrap_or_else(|| first_error(&text)).trim().to_owned())
}

/// A Corefile of this block alone.
fn corefile(block: &str) -> String {
    format!(".:0 {{\nbind 127.0.0.1\n{block}}}\n")
}
