//! The command line.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn rhumb(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhumb"));
    command.args(args).env("COLUMNS", "100").stdin(Stdio::null());
    command
}

/// Exit code, standard output, standard error.
fn run(args: &[&str]) -> (i32, String, String) {
    texts(rhumb(args).output().unwrap())
}

fn texts(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// A folder with a Corefile in it.
fn folder(corefile: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Corefile"), corefile).unwrap();
    folder
}

fn in_folder(folder: &Path, args: &[&str]) -> (i32, String, String) {
    texts(rhumb(args).current_dir(folder).output().unwrap())
}

#[test]
fn help_texts() {
    insta::assert_snapshot!("help", run(&["--help"]).1);
    insta::assert_snapshot!("help-short", run(&["-h"]).1);
    for command in ["serve", "check", "zone", "explain", "plugins", "example", "completions", "man"] {
        let (code, text, _) = run(&[command, "--help"]);
        assert_eq!(code, 0);
        insta::assert_snapshot!(format!("help-{command}"), text);
    }
}

#[test]
fn coredns_form() {
    let usage = "Usage of ";
    for (args, code, stdout, stderr) in [
        (&["-version"][..], 0, "Rhumb-0.", ""),
        (&["--version", "-plugins"], 0, "Rhumb-0.", ""),
        (&["-plugins"], 0, "acl\nany\nautopath\nbind\n", ""),
        (&["-help"], 0, "", usage),
        (&["-quiet", "-h"], 0, "", usage),
        (&["-x"], 2, "", "flag provided but not defined: -x\nUsage of "),
        (&["-conf"], 2, "", "flag needs an argument: -conf\nUsage of "),
        (&["-version", "a", "b"], 1, "", "extra command line arguments: [a b]\n"),
        (&["-"], 1, "", "extra command line arguments: [-]\n"),
        (&["-log-format", "xml", "a"], 1, "", "unknown log format \"xml\": expected text or json\n"),
        (&["-conf", "/nope"], 1, "", "loading Caddyfile via flag: open /nope: no such file or directory\n"),
        (&["-conf=/"], 1, "", "loading Caddyfile via flag: read /: is a directory\n"),
    ] {
        let (got_code, got_stdout, got_stderr) = run(args);
        assert_eq!(got_code, code, "{args:?}: {got_stderr}");
        assert!(
            got_stdout.starts_with(stdout) && got_stdout.is_empty() == stdout.is_empty(),
            "{args:?}: {got_stdout}"
        );
        assert!(
            got_stderr.starts_with(stderr) && got_stderr.is_empty() == stderr.is_empty(),
            "{args:?}: {got_stderr}"
        );
    }
}

#[test]
fn version_has_two_lines() {
    let (_, text, _) = run(&["-version"]);
    let lines: Vec<&str> = text.lines().collect();
    let [name, build] = lines[..] else { panic!("{text}") };
    assert_eq!(name, concat!("Rhumb-", env!("CARGO_PKG_VERSION")));
    assert!(build.starts_with("linux/") && build.contains(", rust1."), "{build}");
}

#[test]
fn wrong_corefile_prints_one_line_and_exits_1() {
    let folder = folder(". {\n    bogus\n}\n");
    for args in [&[][..], &["-conf", "Corefile"], &["serve"], &["serve", "--conf", "Corefile"]] {
        let (code, stdout, stderr) = in_folder(folder.path(), args);
        assert_eq!((code, stdout.as_str()), (1, ""), "{args:?}");
        assert_eq!(stderr, "Corefile:2 - Error during parsing: Unknown directive 'bogus'\n", "{args:?}");
    }
    let (_, _, stderr) = in_folder(folder.path(), &["-log-format", "json"]);
    let line: Value = serde_json::from_str(&stderr).unwrap();
    assert_eq!(line["level"], "FATAL");
    assert_eq!(line["msg"], "Corefile:2 - Error during parsing: Unknown directive 'bogus'");
}

/// From standard input, a file and a shell's `<(echo …)`.
#[test]
fn corefile_from_a_pipe() {
    for (conf, name) in
        [("stdin", "/dev/stdin"), ("/dev/stdin", "/dev/stdin"), ("/proc/self/fd/0", "/proc/self/fd/0")]
    {
        let mut child = rhumb(&["-conf", conf])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b". {\n\nbogus\n}\n").unwrap();
        let (code, _, stderr) = texts(child.wait_with_output().unwrap());
        assert_eq!(code, 1);
        assert_eq!(stderr, format!("{name}:3 - Error during parsing: Unknown directive 'bogus'\n"));
    }
    let (code, _, stderr) = run(&["-conf", "/dev/zero"]);
    let expected = "loading Caddyfile via flag: read /dev/zero: is larger than 33554432 bytes\n";
    assert_eq!((code, stderr.as_str()), (1, expected));
}

const GOOD: &str = "example.org:5301 {\n    bufsize 1400\n    any\n    whoami\n}\n.:5302 {\n    any\n}\n";
const BAD: &str = ". {\n    bufsize 100\n    chaos {\n        colour red\n    }\n}\n";

#[test]
fn check() {
    let folder = folder(GOOD);
    fs::write(folder.path().join("bad"), BAD).unwrap();
    let (code, text, _) = in_folder(folder.path(), &["check", "Corefile"]);
    assert_eq!((code, text.as_str()), (0, "Corefile: ok (2 server blocks on dns://:5301, dns://:5302)\n"));
    let (code, text, stderr) = in_folder(folder.path(), &["check", "bad", "Corefile", "nope"]);
    assert_eq!((code, stderr.as_str()), (1, ""));
    insta::assert_snapshot!("check", text);
    let (code, text, _) = in_folder(folder.path(), &["check", "--output", "json", "bad", "Corefile"]);
    assert_eq!(code, 1);
    insta::assert_snapshot!("check-json", text);
}

#[test]
fn zone_check() {
    let folder = tempfile::tempdir().unwrap();
    let soa = "@ 60 IN SOA ns host 7 2 3 4 5\n";
    for (file, text) in [
        ("db.example.org", &format!("{soa}@ NS ns\nns A 192.0.2.1\n")),
        ("example.org.zone", &format!("{soa}@ NS ns\n")),
        ("absolute", &format!("$ORIGIN example.net.\n{soa}$INCLUDE sub/part\n")),
        ("relative", &soa.to_owned()),
        ("bad.zone", &format!("{soa}a A 192.0.2\nb TXT\n")),
    ] {
        fs::write(folder.path().join(file), text).unwrap();
    }
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/part"), "a A 192.0.2.1\n$INCLUDE more\n").unwrap();
    fs::write(folder.path().join("sub/more"), "b A 192.0.2.2\n").unwrap();
    for (args, code, stdout, stderr) in [
        (&["db.example.org"][..], 0, "db.example.org: ok (zone example.org., 3 records, serial 7)\n", ""),
        (
            &["example.org.zone"],
            0,
            "example.org.zone:2:1: warning: example.org.: NS ns.example.org. has no address in the zone\n\
             example.org.zone: ok (zone example.org., 2 records, serial 7)\n",
            "",
        ),
        (&["absolute"], 0, "absolute: ok (zone example.net., 3 records, serial 7)\n", ""),
        (
            &["relative"],
            1,
            "",
            "relative: the name of the zone is not clear from the file; give it with --origin ZONE\n",
        ),
        (&["--origin", "a.b", "relative"], 0, "relative: ok (zone a.b., 1 records, serial 7)\n", ""),
        (&["--origin", "a..b", "relative"], 1, "", "--origin a..b: a label is empty\n"),
        (
            &["bad.zone"],
            1,
            "bad.zone:2:5: A: expected an IPv4 address, got '192.0.2'\n\
             bad.zone:3:6: TXT: expected the data of the record, got the end of the line\n",
            "",
        ),
        (&["nowhere"], 1, "", "nowhere: No such file or directory (os error 2)\n"),
    ] {
        let found = in_folder(folder.path(), &[&["zone", "check"], args].concat());
        assert_eq!(found, (code, stdout.to_owned(), stderr.to_owned()), "{args:?}");
    }
}

const OLD: &str = "\
# everything goes upstream
.:5301 {
    errors
    proxy . 10.0.0.1 10.0.0.2 { # two of them
        policy least_conn
        spray
        protocol dns force_tcp
    }
    cache 30
}
";

#[test]
fn check_migrate() {
    let folder = folder(OLD);
    let (code, stdout, stderr) = in_folder(folder.path(), &["check", "--migrate", "Corefile"]);
    assert_eq!(code, 0, "{stderr}");
    insta::assert_snapshot!("migrate", stdout);
    insta::assert_snapshot!("migrate-told", stderr);
    // The migrated Corefile is valid and needs no further migration.
    fs::write(folder.path().join("new"), &stdout).unwrap();
    let (code, again, stderr) = in_folder(folder.path(), &["check", "--migrate", "new"]);
    assert_eq!((code, again, stderr.as_str()), (0, stdout, ""));
    let (code, text, stderr) =
        in_folder(folder.path(), &["check", "--migrate", "--output", "json", "Corefile"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    insta::assert_snapshot!("migrate-json", text);
}

#[test]
fn check_migrate_fails_where_the_result_does_not_load() {
    let folder = folder(". {\n    proxy . nonsense:x {\n        spray\n    }\n}\n");
    fs::write(folder.path().join("open"), ". {\n    proxy . 1.1.1.1 {\n").unwrap();
    fs::write(folder.path().join("latin"), b". {\n    # caf\xe9\n}\n").unwrap();
    for (file, stdout, stderr) in [
        (
            "Corefile",
            ". {\n    forward . nonsense:x\n}\n",
            "Corefile:2: 'proxy' became 'forward': CoreDNS 1.5 removed it\nCorefile:3: removed 'spray'",
        ),
        ("open", "", "\nerror: Unexpected EOF\n --> open:2:21\n"),
        ("latin", "", "\nerror: latin: not UTF-8: "),
        ("nope", "", "\nerror: open nope: no such file or directory\n"),
    ] {
        let (code, got_stdout, got_stderr) = in_folder(folder.path(), &["check", "--migrate", file]);
        assert_eq!((code, got_stdout.as_str()), (1, stdout), "{file}");
        assert!(got_stderr.starts_with(stderr), "{got_stderr}");
    }
    let (_, _, stderr) = in_folder(folder.path(), &["check", "--migrate", "Corefile"]);
    assert!(stderr.contains(" --> Corefile (migrated):2:"), "{stderr}");
    assert_eq!(
        in_folder(folder.path(), &["check", "--migrate", "Corefile", "open"]),
        (1, String::new(), "--migrate takes one file at a time: the result goes to standard output\n".into())
    );
}

/// kube-dns's ConfigMap becomes kubeadm's Corefile and a server block per stub domain.
#[test]
fn check_migrate_of_kube_dns() {
    let folder = folder(
        "kind: ConfigMap\nmetadata:\n  name: kube-dns\ndata:\n  stubDomains: |\n    {\"acme.local\": [\"1.2.3.4\"]}\n",
    );
    let (_, stdout, stderr) = in_folder(folder.path(), &["check", "--migrate", "Corefile"]);
    insta::assert_snapshot!("migrate-kube-dns", stdout);
    let printed: Vec<&str> = stderr.lines().take(2).collect();
    let expected = [
        "Corefile:6: stub domain acme.local became the server block 'acme.local:53': its names are forwarded to 1.2.3.4",
        "note: Corefile:1: the ConfigMap does not contain the cluster domain; assumed cluster.local",
    ];
    assert_eq!(printed, expected);
}

#[test]
fn explain() {
    let folder = folder(GOOD);
    let ask = |args: &str| {
        let args: Vec<&str> = std::iter::once("explain").chain(args.split_whitespace()).collect();
        let (code, stdout, stderr) = in_folder(folder.path(), &args);
        format!("$ rhumb {}\n{stdout}{stderr}[exit code {code}]\n\n", args.join(" "))
    };
    let text: String = [
        "a.example.org ANY",
        "a.example.org --client 2001:db8::1 --tcp",
        "a.example.net TYPE255 --server :5302",
        "a.example.net",
        "a.example.org TXT --class CH",
        "a.example.org ANY --output json",
        "a.example.org NONSENSE",
        "a..b",
        "a --server :53",
        "a --conf /nope",
    ]
    .map(ask)
    .concat();
    insta::assert_snapshot!("explain", text);
}

#[test]
fn plugins_are_listed_in_order() {
    let (code, text, _) = run(&["plugins"]);
    assert_eq!(code, 0);
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.first(), Some(&"root"));
    assert!(names.iter().position(|n| *n == "errors") < names.iter().position(|n| *n == "hosts"));
    assert!(
        text.lines().any(|line| line.starts_with("nomad ") && line.contains("(not part of Rhumb: ")),
        "{text}"
    );
}

#[test]
fn completions_and_manual() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, text, _) = run(&["completions", shell]);
        assert!(code == 0 && text.contains("rhumb"), "{shell}");
    }
    for (args, start) in [(&["man"][..], ".TH rhumb 1"), (&["man", "check"], ".TH rhumb-check 1")] {
        let (code, text, _) = run(args);
        assert!(code == 0 && text.contains(start), "{text}");
    }
    assert_eq!(
        run(&["man", "nope"]),
        (1, String::new(), "unknown command 'nope'; see rhumb --help\n".into())
    );
}

/// The Corefiles of distributions must pass, except for plugins not implemented yet, which the snapshot lists.
#[test]
fn corefiles_of_the_distributions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corefiles");
    let mut folders: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.is_dir());
    folders.sort();
    assert!(folders.len() > 5);
    let mut record = String::new();
    for folder in folders {
        let (_, text, _) = in_folder(&folder, &["check", "--output", "json", "Corefile"]);
        let report: Value = serde_json::from_str(&text).unwrap();
        let mut missing: Vec<String> =
            report[0]["diagnostics"].as_array().unwrap().iter().map(missing_plugin).collect();
        missing.sort();
        missing.dedup();
        let distribution = folder.file_name().unwrap().to_string_lossy().into_owned();
        let verdict =
            if missing.is_empty() { "ok".to_owned() } else { format!("without {}", missing.join(", ")) };
        record.push_str(&format!("{distribution}: {verdict}\n"));
    }
    insta::assert_snapshot!("distributions", record);
}

/// The plugin not implemented yet; any other diagnostic fails the test.
fn missing_plugin(diagnostic: &Value) -> String {
    let message = diagnostic["message"].as_str().unwrap();
    let plugin = message.strip_suffix("' is still to come in Rhumb").and_then(|text| text.rsplit_once('\''));
    plugin.unwrap_or_else(|| panic!("{diagnostic}")).1.to_owned()
}
