//! Cache contents after a reload.

use std::path::Path;

use server::{Config, Input, config, runtime};
use testkit::scripted_upstream::{ScriptedUpstream, Step};
use wire::{NameBuf, Query, Rtype};

use crate::testing::harness::present;

fn after(running: &Config, corefile: &str) -> Result<Config, String> {
    let input = Input { name: "Corefile".into(), contents: corefile.into(), dns_port: "53".into() };
    let parsed = config::parse(&input, crate::PLUGINS, &corefile::Disk).map_err(|error| error.to_string())?;
    config::set_up(parsed, crate::PLUGINS, running).map_err(|errors| errors[0].to_string())
}

fn first(corefile: &str) -> Config {
    crate::testing::harness::configure(corefile).unwrap_or_else(|error| panic!("{error}"))
}

fn ask(config: &Config, name: &str) -> String {
    let client = server::Client {
        remote: ([127, 0, 0, 1], 40000).into(),
        local: ([127, 0, 0, 1], 53).into(),
        transport: server::Transport::Udp,
    };
    let query = Query::ask(NameBuf::parse(name).expect("a name").as_name(), Rtype::A).to_packet();
    let service = config.services().next().expect("a service").1;
    present(&runtime::handle().block_on(service.answer(&query, client, server::Purpose::Serve)))
}

fn upstream() -> ScriptedUpstream {
    let up = ScriptedUpstream::start().expect("an upstream");
    up.otherwise([Step::address("192.0.2.1", 300).expect("an address")]);
    up
}

/// Reloads from `before` to `then`, in which `{up}`, `{other}` and `{dir}` are filled in, and checks whether entries
/// survive. `between` runs before the reload.
#[track_caller]
fn check(before: &str, then: &str, kept: bool, between: impl FnOnce(&Path)) {
    let [up, other] = [upstream(), upstream()];
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("hosts"), "10.0.0.1 host.example\n").expect("a file");
    let fill = |text: &str| {
        text.replace("{up}", &up.addr().to_string())
            .replace("{other}", &other.addr().to_string())
            .replace("{dir}", &folder.path().display().to_string())
    };
    let running = first(&fill(before));
    ask(&running, "www.example");
    assert_eq!(up.count("www.example"), 1);
    between(folder.path());
    let next = after(&running, &fill(then)).unwrap_or_else(|error| panic!("{error}\n{then}"));
    drop(running);
    assert!(ask(&next, "www.example").contains("192.0.2.1"));
    let asked = up.count("www.example") + other.count("www.example");
    assert_eq!(asked == 1, kept, "{then}");
}

const PLAIN: &str = ". {\n cache\n forward . {up}\n}\n";
const HOSTS: &str = ". {\n cache\n hosts {dir}/hosts {\n fallthrough\n }\n forward . {up}\n}\n";

#[test]
fn entries_survive_if_nothing_below_changes() {
    for (before, then) in [
        (PLAIN, PLAIN),
        (PLAIN, ". {\n errors\n log\n cache\n forward . {up}\n}\n"),
        (PLAIN, "# A word about it.\n. {\n  forward . {up}\n\n  cache\n}\n"),
        (PLAIN, ". {\n cache\n forward . {up}\n}\nelsewhere {\n whoami\n}\n"),
        (HOSTS, HOSTS),
        ("(up) {\n forward . {up}\n}\n. {\n cache\n import up\n}\n", PLAIN),
    ] {
        check(before, then, true, |_| {});
    }
}

#[test]
fn entries_are_dropped_if_anything_below_changes() {
    for (before, then) in [
        (PLAIN, ". {\n cache\n forward . {other}\n}\n"),
        (PLAIN, ". {\n cache\n forward . {up} {other} {\n policy sequential\n }\n}\n"),
        (PLAIN, ". {\n cache\n forward . {up} {\n max_fails 3\n }\n}\n"),
        (PLAIN, ". {\n cache\n minimal\n forward . {up}\n}\n"),
        (PLAIN, ". {\n cache\n hosts {\n 10.0.0.1 other.example\n fallthrough\n }\n forward . {up}\n}\n"),
        (PLAIN, ". {\n cache 60\n forward . {up}\n}\n"),
        (PLAIN, ". {\n cache example\n forward . {up}\n}\n"),
        (PLAIN, ". {\n cache {\n keepttl\n }\n forward . {up}\n}\n"),
        (PLAIN, ". {\n cache {\n serve_stale\n }\n forward . {up}\n}\n"),
        (PLAIN, "example {\n cache .\n forward . {up}\n}\n"),
        (PLAIN, ".:1053 {\n cache\n forward . {up}\n}\n"),
        (PLAIN, ". {\n bind 127.0.0.1\n cache\n forward . {up}\n}\n"),
    ] {
        check(before, then, false, |_| {});
    }
}

#[test]
fn entries_are_dropped_when_files_below_change() {
    let write =
        |folder: &Path| std::fs::write(folder.join("hosts"), "10.0.0.22 host.example\n").expect("written");
    check(HOSTS, HOSTS, false, write);
    let relative = ". {\n root {dir}\n cache\n hosts hosts {\n fallthrough\n }\n forward . {up}\n}\n";
    check(relative, relative, true, |_| {});
    check(relative, relative, false, write);
    let above = ". {\n root {dir}\n cache\n forward . {up}\n}\n";
    check(above, above, true, write);
}

#[test]
fn a_rejected_configuration_changes_nothing() {
    let up = upstream();
    let corefile = |more: &str| format!(". {{\n cache\n {more}\n forward . {}\n}}\n", up.addr());
    let running = first(&corefile(""));
    ask(&running, "www.example");
    assert!(after(&running, &corefile("nosuchplugin")).is_err());
    // Valid ones that never serve.
    drop(after(&running, &corefile("minimal")).expect("it loads"));
    drop(after(&running, &corefile("")).expect("it loads"));
    ask(&running, "www.example");
    let next = after(&running, &corefile("")).expect("it loads");
    ask(&next, "www.example");
    assert_eq!(up.count("www.example"), 1);
}

#[test]
fn unused_contents_are_dropped() {
    let up = upstream();
    let corefile = |more: &str| format!(". {{\n cache {more}\n forward . {}\n}}\n", up.addr());
    let running = first(&corefile(""));
    ask(&running, "www.example");
    let other = after(&running, &corefile("60")).expect("it loads");
    drop(running);
    let again = after(&other, &corefile("")).expect("it loads");
    ask(&again, "www.example");
    assert_eq!(up.count("www.example"), 2);
}

#[test]
fn queries_of_the_next_configuration_join_flights() {
    let up = ScriptedUpstream::start().expect("an upstream");
    let slow = std::time::Duration::from_millis(300);
    up.otherwise([Step::address("192.0.2.1", 300).expect("an address").delayed(slow)]);
    let corefile = format!(". {{\n cache\n forward . {}\n}}\n", up.addr());
    let running = first(&corefile);
    let next = after(&running, &corefile).expect("it loads");
    std::thread::scope(|scope| {
        let one = scope.spawn(|| ask(&running, "www.example"));
        while up.total() == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(ask(&next, "www.example"), one.join().expect("an answer"));
    });
    assert_eq!(up.total(), 1);
}

#[test]
fn counters_survive_a_reload() {
    let up = upstream();
    let other = upstream();
    let corefile =
        |to: &ScriptedUpstream| format!(".:2053 {{\n cache reloaded.example\n forward . {}\n}}\n", to.addr());
    let counted = |name: &str| {
        let text = metrics::registry().encode();
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("coredns_cache_{name}{{")) && line.contains("reloaded"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let all = || ["requests_total", "hits_total", "misses_total"].map(counted);
    let running = first(&corefile(&up));
    ask(&running, "www.reloaded.example");
    assert_eq!(all(), [1.0, 0.0, 1.0]);
    let next = after(&running, &corefile(&up)).expect("it loads");
    drop(running);
    ask(&next, "www.reloaded.example");
    assert_eq!(all(), [2.0, 1.0, 1.0]);
    let last = after(&next, &corefile(&other)).expect("it loads");
    drop(next);
    ask(&last, "www.reloaded.example");
    assert_eq!(all(), [3.0, 1.0, 2.0]);
}
