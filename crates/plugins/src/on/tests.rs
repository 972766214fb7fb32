use std::fs;
use std::time::{Duration, Instant};

use super::words::split;
use crate::log::capture::Capture;
use crate::testing::harness::{check, configure, refused};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\nwhoami\n}}\n", body.replace('|', "\n"))
}

#[test]
fn words() {
    for (line, expected) in [
        ("", Ok(vec![])),
        ("  \t ", Ok(vec![])),
        ("echo a  b", Ok(vec!["echo", "a", "b"])),
        ("echo 'a  b' \"c d\"", Ok(vec!["echo", "a  b", "c d"])),
        ("echo a'b c'd", Ok(vec!["echo", "ab cd"])),
        ("echo \\'a \\# b", Ok(vec!["echo", "'a", "#", "b"])),
        ("echo \"a\\\"b\" 'a\\b'", Ok(vec!["echo", "a\"b", "a\\b"])),
        ("echo '' x", Ok(vec!["echo", "", "x"])),
        ("echo a#b # c d", Ok(vec!["echo", "a#b"])),
        ("echo # c\nd", Ok(vec!["echo", "d"])),
        ("# all", Ok(vec![])),
        ("echo 'ä'", Ok(vec!["echo", "ä"])),
        ("echo ä", Err("Unknown rune: 228")),
        ("echo aä", Err("Uknown rune: 228")),
        ("echo \\ä", Err("Uknown rune: 228")),
        ("`a", Err("Unknown rune: 96")),
        ("echo 'a", Err("EOF found when expecting closing quote.")),
        ("echo \"a", Err("EOF found when expecting closing quote.")),
        ("echo a\\", Err("EOF found after escape character")),
        ("echo \"a\\", Err("EOF found after escape character")),
    ] {
        let expected: Result<Vec<String>, String> =
            expected.map(|words| words.into_iter().map(str::to_owned).collect()).map_err(str::to_owned);
        assert_eq!(split(line), expected, "{line:?}");
    }
}

#[test]
fn forms() {
    for body in ["on startup true", "on STARTUP true &", "on shutdown a b|on certrenew c", "on startup &"] {
        assert_eq!(configure(&corefile(body)).err(), None, "{body}");
    }
    let parsing = "Corefile:2 - Error during parsing: ";
    for (body, error) in [
        ("on", "Wrong argument count or unexpected line ending after 'on'"),
        ("on start true", "Wrong event name or event not supported: 'start'"),
        ("on Startup", "no command contained in ''"),
        ("on startup {|}", "no command contained in ''"),
        ("on startup 'a", "error parsing command: EOF found when expecting closing quote."),
    ] {
        assert_eq!(refused(&corefile(body)), format!("{parsing}{error}"), "{body}");
    }
}

#[test]
fn commands_run_at_their_event_and_in_their_order() {
    let log = Capture::take();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let echo = |word: &str| format!("sh -c \"'echo {word} >> {}'\"", out.display());
    let config = configure(&corefile(&format!(
        "on startup {}|on shutdown {}|on startup {}|on certrenew {}|on startup false|on startup nothing-here x",
        echo("one"),
        echo("bye"),
        echo("two"),
        echo("never")
    )))
    .unwrap();
    config.each_lifecycle("test", |plugin| plugin.serving());
    assert_eq!(fs::read_to_string(&out).unwrap(), "one\ntwo\n");
    let lines = log.lines("");
    let with = |words: &str| lines.iter().filter(|line| line.contains(words)).count();
    assert_eq!(with("[INFO] Blocking Command \"sh -c echo one >> "), 1, "{lines:?}");
    assert_eq!(with(" hook: exit status 1"), 1, "{lines:?}");
    assert_eq!(with(" hook: exec: \"nothing-here\": executable file not found in $PATH"), 1, "{lines:?}");
    config.each_lifecycle("test", |plugin| plugin.leaving());
    assert_eq!(fs::read_to_string(&out).unwrap(), "one\ntwo\nbye\n");
}

/// Names of the threads of this process.
fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok()).collect()
}

/// The thread that waits for a command in the background ends with it, even after a panic.
#[test]
fn background_commands_are_reaped() {
    let _log = Capture::take();
    let config = configure(&corefile("on startup sleep 0.1 &")).unwrap();
    supervise::inject::arm("on-reaper", 1);
    config.each_lifecycle("test", |plugin| plugin.serving());
    let deadline = Instant::now() + Duration::from_secs(10);
    while supervise::panics("on-reaper") == 0 || threads().iter().any(|name| name == "rhumb-on\n") {
        assert!(Instant::now() < deadline, "{:?}", threads());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn is_not_in_the_query_chain() {
    check(". {\non startup true\n}\n", "example.org A", "REFUSED qr");
}
