use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use server::http::HttpAnswer;
use server::{Offered, Ready};

use super::answer;
use super::list::{Monitor, ReadyList};
use crate::log::capture::Capture;
use crate::testing::harness::{configure, page, refused};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(". {{\n{}\nwhoami\n}}\n", body.replace('|', "\n"))
}

#[test]
fn forms() {
    for (body, addr) in [
        ("ready", ":8181"),
        ("ready {|}", ":8181"),
        ("ready :18181", ":18181"),
        ("ready localhost:18181", "localhost:18181"),
        ("ready :18181 {| monitor until-ready|}", ":18181"),
        ("ready {| monitor continuously|}", ":8181"),
    ] {
        let config = configure(&corefile(body)).unwrap_or_else(|error| panic!("{body}: {error}"));
        let routes: Vec<(&str, &str)> =
            config.routes().iter().map(|route| (&*route.addr, route.path)).collect();
        assert_eq!(routes, [(addr, "/ready")], "{body}");
    }
}

#[test]
fn refused_forms() {
    let count = "Error during parsing: Wrong argument count or unexpected line ending after";
    for (body, error) in [
        ("ready 18181", "address 18181: missing port in address".into()),
        ("ready a b", format!("Corefile:2 - {count} 'b'")),
        ("ready|ready", "this plugin can only be used once per Server Block".into()),
        ("ready {| monitor|}", format!("Corefile:3 - {count} 'monitor'")),
        ("ready {| monitor a b|}", format!("Corefile:3 - {count} 'b'")),
        (
            "ready {| monitor sometimes|}",
            "Corefile:3 - Error during parsing: monitor type 'sometimes' not supported".to_owned(),
        ),
        ("ready {| foo|}", "Corefile:3 - Error during parsing: unknown property 'foo'".into()),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/ready: {error}"), "{body}");
    }
}

#[test]
fn blocks_share_an_address() {
    let config =
        configure("a.org {\nready\nwhoami\n}\nb.org {\nready\nwhoami\n}\nc.org {\nready :1\nwhoami\n}\n")
            .unwrap();
    let addrs: Vec<&str> = config.routes().iter().map(|route| &*route.addr).collect();
    assert_eq!(addrs, [":8181", ":1"]);
    // No plugin here reports readiness.
    let answer = page(&config.routes()[0]);
    assert_eq!(answer, HttpAnswer::text(200, "OK"));
}

struct Reporter {
    name: &'static str,
    ready: AtomicBool,
    why_not: Option<&'static str>,
}

impl Ready for Reporter {
    fn ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    fn why_not(&self) -> Option<String> {
        self.why_not.map(str::to_owned)
    }
}

fn offered(reporter: &Arc<Reporter>) -> Offered<dyn Ready> {
    Offered { plugin: reporter.name, position: None, value: reporter.clone() }
}

#[test]
fn reports_plugins_that_are_not_ready() {
    let log = Capture::take();
    let list = ReadyList::default();
    // Two blocks with the same plugin: both count, the name appears once.
    let reporters = ["kubernetes", "etcd", "kubernetes", "loop"]
        .map(|name| Arc::new(Reporter { name, ready: AtomicBool::new(false), why_not: None }));
    let monitors = [Monitor::UntilReady, Monitor::UntilReady, Monitor::UntilReady, Monitor::Continuously];
    for (reporter, monitor) in reporters.iter().zip(monitors) {
        list.add(offered(reporter), monitor);
    }
    for (ready, expected) in [
        ([false, false, false, false], Err("etcd,kubernetes,loop")),
        ([true, true, false, true], Err("kubernetes")),
        // A plugin that was ready once stays so, unless it is monitored continuously.
        ([false, false, true, false], Err("loop")),
        ([false, false, false, true], Ok(())),
        ([true, true, true, false], Err("loop")),
    ] {
        reporters
            .iter()
            .zip(ready)
            .for_each(|(reporter, ready)| reporter.ready.store(ready, Ordering::Relaxed));
        let (status, body) = match expected {
            Ok(()) => (200, "OK"),
            Err(names) => (503, names),
        };
        assert_eq!(answer(&list, false), HttpAnswer::text(status, body), "{ready:?}");
        let lines: Vec<String> = expected
            .err()
            .map(|names| format!("[INFO] plugin/ready: Plugins not ready: \"{names}\""))
            .into_iter()
            .collect();
        assert_eq!(log.lines("plugin/ready"), lines, "{ready:?}");
    }
    assert_eq!(answer(&list, true), HttpAnswer::text(503, "Shutting down"));
}

#[test]
fn reports_why_a_plugin_is_not_ready() {
    let _log = Capture::take();
    let list = ReadyList::default();
    for why_not in
        [Some("b: stale for 4s: services: refused"), Some("a: stale for 2s: pods: hung"), None, None]
    {
        let reporter = Reporter { name: "kubernetes", ready: AtomicBool::new(false), why_not };
        list.add(offered(&Arc::new(reporter)), Monitor::Continuously);
    }
    let body =
        "kubernetes,kubernetes: a: stale for 2s: pods: hung,kubernetes: b: stale for 4s: services: refused";
    assert_eq!(answer(&list, false), HttpAnswer::text(503, body));
}
