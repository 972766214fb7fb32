use metrics::registry;

use crate::log::capture::Capture;
use crate::testing::harness::{configure, refused};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\nwhoami\n}}\n", body.replace('|', "\n"))
}

#[test]
fn forms() {
    for body in [
        "reload",
        "reload 10s",
        "reload 10s 2s",
        "reload 2s 0s",
        "reload 2s 0",
        "reload 10s 1m",
        // Only the first line is parsed.
        "reload 10s|reload foo",
        "reload {| foo|}",
    ] {
        assert_eq!(configure(&corefile(body)).err(), None, "{body}");
    }
    let interval = "interval value must be greater or equal to 2s";
    let jitter = "jitter value must be 0 or greater or equal to 1s";
    for (body, error) in [
        ("reload foo", "time: invalid duration \"foo\""),
        ("reload \"\"", "time: invalid duration \"\""),
        ("reload 5", "time: missing unit in duration \"5\""),
        ("reload 10s foo", "time: invalid duration \"foo\""),
        ("reload 10s 5d", "time: unknown unit \"d\" in duration \"5d\""),
        ("reload 1s", interval),
        ("reload 0s", interval),
        ("reload -5s", interval),
        ("reload 3s 0.5s", jitter),
        ("reload 3s -1s", jitter),
        (
            "reload 10s 5s foo",
            "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'foo'",
        ),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/reload: {error}"), "{body}");
    }
}

#[test]
fn reports_the_running_configuration() {
    let log = Capture::take();
    let two_blocks = "a.org {\nreload\nwhoami\n}\nb.org {\nreload\nwhoami\n}\n";
    for (corefile, known) in
        [(corefile("reload"), false), (two_blocks.to_owned(), true), (corefile("reload"), true)]
    {
        let config = configure(&corefile).unwrap();
        config.each_lifecycle("test", |plugin| plugin.start());
        let line = format!("[INFO] plugin/reload: Running configuration SHA512 = {}", config.digest);
        assert_eq!(log.lines("plugin/reload"), [line]);
        let text = registry().encode();
        let series: Vec<&str> =
            text.lines().filter(|line| line.starts_with("coredns_reload_version_info{")).collect();
        let expected =
            format!("coredns_reload_version_info{{hash=\"sha512\",value=\"{}\"}} 1", config.digest);
        assert_eq!(series, if known { vec![&*expected] } else { vec![] });
    }
}
