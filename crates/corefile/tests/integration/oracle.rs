//! Small Corefiles for CoreDNS and this crate: both accept each, or report the same error.
//!
//! Needs a CoreDNS binary in `RHUMB_PEER_COREDNS`; without it the tests are skipped.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use corefile::source::ReadError;
use corefile::{
    Diagnostic, Disk, Dispenser, Source, ZoneListener, block_zones, canonical_json, check_overlap, parse,
};
use sha2::{Digest, Sha512};

const TIMEOUT: Duration = Duration::from_secs(30);

const VARIABLES: &[(&str, &str)] = &[
    ("RHUMB_ZONE", "example.org"),
    ("RHUMB_WORD", "log"),
    ("RHUMB_SPACES", "a b"),
    ("RHUMB_OPEN", "{"),
    ("RHUMB_IMPORT", "import"),
    ("RHUMB_NESTED", "{$RHUMB_ZONE}"),
];

/// Files next to the Corefile.
const FILES: &[(&str, &str)] = &[
    ("lines.conf", "log\nerrors\n"),
    ("block.conf", "imported.example {\nbind 127.0.0.1\n}\n"),
    ("keys.conf", "k1.example, k2.example"),
    ("empty.conf", "# nothing\n"),
    ("loop.conf", "import loop.conf\n"),
    ("broken.conf", "log\nnope\n"),
    ("d/up.conf", "import ../lines.conf\n"),
];

/// `@` is a free port, `BIND` a line that binds to the loopback address.
const CASES: &[&str] = &[
    // Blocks and keys.
    "",
    ". {\nBIND\n}",
    ".\n{\nBIND\nwhoami\n}",
    ".\nBIND\nwhoami",
    "a b {\nBIND\n}",
    "a, b {\nBIND\n}",
    "a,\nb {\nBIND\n}",
    "a, {\nBIND\n}",
    "a,",
    "a , b {\nBIND\n}",
    ". {\nBIND\n}\n}\nBIND\n",
    ". {\nBIND\nwhoami\n",
    ". {\nBIND\nerrors {\n}",
    ". {",
    ". { whoami }",
    ". { BIND\nwhoami\n}",
    "{\nBIND\n}\n. {\nBIND\n}",
    "\"\" . {\nBIND\n}",
    "\"\"",
    "a {\nBIND\n} b {\nBIND\n}",
    "a\nBIND\nb {\n}",
    "a\nBIND\n}\nb {\nBIND\n}",
    // Tokens.
    "\u{feff}. {\r\nBIND\r\n}\r\n",
    ". {\nBIND\nlog # c }\n}",
    ". {\nBIND\nwhoami#c\n}",
    ". {\nBIND\nwhoami#c d\n}",
    ". {\nBIND\nwhoami\"x\n}",
    ". {\nBIND\n\"whoami\"\n}",
    ". {\nBIND\n\"who\nami\"\n}",
    ". {\nBIND\n\"whoami\n}",
    ". {\nBIND\nno\\pe\n}",
    // Directives.
    ". {\nBIND\nnope\n}",
    ". {\n{\n}\n}",
    ". {\nBIND\nerrors {\n",
    ". {\nBIND\nerrors\n{\n}\n}",
    ". {\nBIND\nwhoami\nlog\nerrors\nerrors\n}",
    ". {\nBIND\nwhoami }\n}",
    "(s)\n",
    // Snippets.
    "(s) {\nBIND\nwhoami\n}\n. {\nimport s\n}",
    "(s) { whoami }\n. {\nBIND\nimport s\n}",
    "(s) {\n}\n(s) {\n}\n. {\nBIND\n}",
    "(s) {\nwhoami\n",
    "(s)\nwhoami",
    "(s) {\nimport s\n}\n. {\nBIND\n}",
    "(a) {\nimport b\n}\n(b) {\nimport a\n}\n. {\nimport a\n}",
    ". {\nimport s\n}\n(s) {\nwhoami\n}",
    // Imports.
    "import",
    "import \"\"",
    "import a b",
    "import nope.conf",
    "import d",
    "import nope*\n. {\nBIND\n}",
    ". {\nBIND\nimport nope?\n}",
    "import **",
    "import [ab]",
    "import [",
    "import x\\",
    "import block.conf",
    "import keys.conf {\nBIND\n}",
    "import keys.conf\n{\nBIND\n}",
    "a,\nimport keys.conf\n{\nBIND\n}",
    "a,\nimport empty.conf",
    ". {\nBIND\nimport lines.conf\n}",
    ". {\nBIND\nimport d/*.conf\n}",
    ". {\nBIND\nimport broken.conf\n}",
    ". {\nBIND\nimport import\n}",
    "import loop.conf",
    // Variables.
    "{$RHUMB_ZONE}:@ {\nBIND\n}",
    "{%RHUMB_ZONE%} {$RHUMB_UNSET} {\nBIND\n}",
    ". {\nBIND\n{$RHUMB_WORD}\n}",
    ". {\nBIND\n{$RHUMB_UNSET}\n}",
    ". {\nBIND\n{$RHUMB_OPEN}\n}",
    "{$RHUMB_IMPORT} block.conf",
    ". {\nBIND\n{$RHUMB_IMPORT} lines.conf\n}",
    "{$RHUMB_NESTED} {\nBIND\n}\nexample.org {\nBIND\n}",
    "\"{$RHUMB_SPACES}\" {\nBIND\n}",
    // Keys.
    "example.org: {\nBIND\n}",
    ":@ {\nBIND\n}",
    "a..b {\nBIND\n}",
    "dns:// {\nBIND\n}",
    "::/8 {\nBIND\n}",
    "0::/8:@ {\nBIND\n}",
    "ftp://example.org {\nBIND\n}",
    "10.0.0.0/8 10.1.0.0/15 {\nBIND\n}",
    "2001:db8::/33 {\nBIND\n}",
    "a.example:70000 {\nBIND\n}",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa {\nBIND\n}",
    // Tokens that setups read.
    ". {\nBIND\nwhoami x\n}",
    ". {\nBIND\nwhoami {\n}\n}",
    ". {\nBIND\nwhoami\nwhoami x\n}",
    ". {\nBIND\nerratic\n}",
    ". {\nBIND\nerratic {\n}\n}",
    ". {\nBIND\nerratic {\ndrop 3\nlarge\n}\n}",
    ". {\nBIND\nerratic {\ndrop\n}\nerratic {\nlarge\n}\n}",
    ". {\nBIND\nerratic {\ndrop 3 4\n}\n}",
    ". {\nBIND\nerratic x {\nlarge\n}\n}",
    ". {\nBIND\nerratic\n{\nlarge\n}\n}",
    ". {\nBIND\nerratic {\nlarge {\nlarge\n}\nnope\n}\n}",
    ". {\nBIND\nerratic {\nnope\n}\n}",
    ". {\nBIND\nerratic {\n\"drop\n\" 3\n}\n}",
    ". {\nBIND\nerratic {\nimport empty.conf\nlarge\n}\n}",
    ". {\nBIND\nerratic {\nimport lines.conf\n}\n}",
    ". {\nBIND\nerratic {$RHUMB_OPEN}\nlarge\n}\n",
    ". {\nBIND\nerratic { large\n}\n}",
    ". {\nBIND\nerrors stdout {\nstacktrace\n}\n}",
    ". {\nBIND\nerrors stdout x\n}",
    ". {\nBIND\nerrors {\nnope\n}\n}",
    ". {\nBIND\nerrors x\n}",
    // Duplicate zones.
    "a {\nBIND\n}\nA. {\nBIND\n}",
    "a a:@ {\nBIND\n}",
    "10.0.0.0/23 {\nBIND\n}\n1.0.10.in-addr.arpa {\nBIND\n}",
    "a {\nBIND\n}\na {\n}",
    "a {\n}\na {\nBIND\n}",
];

#[test]
fn accepted_files_and_errors_are_the_same() {
    let Some(peer) = peer() else { return };
    let directory = tempfile::tempdir().unwrap();
    write_files(directory.path());
    let path = directory.path().join("Corefile");
    let known = directives(&peer);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let mut differences = Vec::new();
    for case in CASES {
        let port = free_port();
        let text = case.replace("BIND", "bind 127.0.0.1").replace('@', &port);
        std::fs::write(&path, &text).unwrap();
        let (_, theirs) = run(&peer, &path, &port);
        let ours = verdict(&path.to_string_lossy(), &text, &known, &port);
        if theirs != ours {
            differences.push(format!("{case:?}\n  CoreDNS: {theirs:?}\n  rhumb:   {ours:?}"));
        }
    }
    assert!(differences.is_empty(), "{} of {}:\n{}", differences.len(), CASES.len(), differences.join("\n"));
}

#[test]
fn the_configuration_hash_is_the_same() {
    let Some(peer) = peer() else { return };
    let directory = tempfile::tempdir().unwrap();
    write_files(directory.path());
    let path = directory.path().join("Corefile");
    for case in [
        ". {\nBIND\nreload\n}",
        "(s) {\nwhoami\n}\n{$RHUMB_ZONE}, b 10.0.0.0/23 {\nimport s\nBIND\nreload 5s\n{$RHUMB_WORD} <&> {\nclass all\n}\n}",
        "import block.conf\n. {\nBIND\nreload\nimport d/*.conf\nlog \"é \\\"x\\\" \t\u{2028}\"\n}",
    ] {
        let port = free_port();
        let text = case.replace("BIND", "bind 127.0.0.1");
        std::fs::write(&path, &text).unwrap();
        let (lines, result) = run(&peer, &path, &port);
        assert_eq!(result, Ok(()), "{case}");
        let theirs = lines.iter().find_map(|line| line.split("SHA512 = ").nth(1)).unwrap();
        let parsed = parse(&path.to_string_lossy(), text.as_bytes(), None, &PeerSource).unwrap();
        let ours: String =
            Sha512::digest(canonical_json(&parsed.blocks)).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(theirs.trim(), ours, "{case}");
    }
}

/// Accepted, or the line of the error.
type Verdict = Result<(), String>;

fn verdict(name: &str, text: &str, known: &[&str], port: &str) -> Verdict {
    let line = |error: Diagnostic| error.to_string();
    let parsed = parse(name, text.as_bytes(), Some(known), &PeerSource).map_err(line)?;
    let mut listening = Vec::new();
    for block in &parsed.blocks {
        let address = if block.directive("bind").is_some() { "127.0.0.1" } else { "" };
        let zones = block_zones(block, port).map_err(line)?;
        listening.extend(zones.into_iter().map(|zone| (ZoneListener::new(&zone, address, false), zone)));
    }
    for (name, setup) in SETUPS {
        for block in &parsed.blocks {
            let Some(mut c) = block.dispenser(name) else { continue };
            setup(&mut c).map_err(|error| line(error.in_plugin(name)))?;
        }
    }
    for (_, zone) in &listening {
        zone.port_number().map_err(line)?;
    }
    let listening: Vec<_> = listening.into_iter().map(|(listening, _)| listening).collect();
    check_overlap(&listening).map_err(line)
}

type Setup = fn(&mut Dispenser<'_>) -> Result<(), Diagnostic>;

/// Some of CoreDNS's setups, in its order, on our tokens.
const SETUPS: &[(&str, Setup)] = &[("errors", errors), ("erratic", erratic), ("whoami", whoami)];

fn whoami(c: &mut Dispenser<'_>) -> Result<(), Diagnostic> {
    c.next();
    if c.next_arg() { Err(c.arg_err()) } else { Ok(()) }
}

fn errors(c: &mut Dispenser<'_>) -> Result<(), Diagnostic> {
    let mut seen = false;
    while c.next() {
        if std::mem::replace(&mut seen, true) {
            return Err(c.bare_err("this plugin can only be used once per Server Block"));
        }
        match c.remaining_args().as_slice() {
            [] | ["stdout"] => {}
            [file] => return Err(c.err(format_args!("invalid log file: {file}"))),
            _ => return Err(c.arg_err()),
        }
        while c.next_block() {
            if c.val() != "stacktrace" {
                return Err(c.syntax_err(&format!("Unknown field {}", c.val())));
            }
        }
    }
    Ok(())
}

fn erratic(c: &mut Dispenser<'_>) -> Result<(), Diagnostic> {
    while c.next() {
        while c.next_block() {
            match c.val() {
                "drop" | "truncate" if c.remaining_args().len() > 1 => return Err(c.arg_err()),
                "drop" | "truncate" | "large" => {}
                _ => return Err(c.unknown_property(&["drop", "truncate", "large"])),
            }
        }
    }
    Ok(())
}

/// Starts CoreDNS and waits until it prints its version or exits. Returns its output until then.
fn run(peer: &Path, path: &Path, port: &str) -> (Vec<String>, Verdict) {
    let mut child = Command::new(peer)
        .args(["-dns.port", port, "-conf"])
        .arg(path)
        .envs(VARIABLES.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = read_until_started(&mut child);
    let started = lines.iter().any(|line| line.starts_with("CoreDNS-"));
    let _ = child.kill();
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    child.wait().unwrap();
    (lines, if started { Ok(()) } else { Err(errors.trim_end_matches('\n').to_string()) })
}

fn read_until_started(child: &mut Child) -> Vec<String> {
    let output = child.stdout.take().unwrap();
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut seen = Vec::new();
    while let Ok(line) = lines.recv_timeout(TIMEOUT) {
        let started = line.starts_with("CoreDNS-");
        seen.push(line);
        if started {
            break;
        }
    }
    seen
}

fn peer() -> Option<PathBuf> {
    let peer = std::env::var_os("RHUMB_PEER_COREDNS").map(PathBuf::from);
    if peer.is_none() {
        println!("skipped: RHUMB_PEER_COREDNS is not set to a CoreDNS binary");
    }
    peer
}

fn directives(peer: &Path) -> Vec<String> {
    let output = Command::new(peer).arg("-plugins").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_string).collect()
}

fn write_files(directory: &Path) {
    std::fs::create_dir(directory.join("d")).unwrap();
    for (name, text) in FILES {
        std::fs::write(directory.join(name), text).unwrap();
    }
}

fn free_port() -> String {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap();
        if UdpSocket::bind(address).is_ok() {
            return address.port().to_string();
        }
    }
}

/// The disk, with the environment variables of the peer.
struct PeerSource;

impl Source for PeerSource {
    fn current_directory(&self) -> io::Result<String> {
        Disk.current_directory()
    }
    fn exists(&self, path: &str) -> bool {
        Disk.exists(path)
    }
    fn list(&self, directory: &str) -> Option<Vec<String>> {
        Disk.list(directory)
    }
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        Disk.read(path)
    }
    fn variable(&self, name: &str) -> String {
        let variables: BTreeMap<_, _> = VARIABLES.iter().copied().collect();
        variables.get(name).copied().unwrap_or_default().to_string()
    }
}
