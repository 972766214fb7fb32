//! Sockets and health survive a reload if nothing changed that they depend on.

use std::collections::BTreeSet;

use server::{Config, Input, config};

use super::*;

fn after(running: &Config, corefile: &str) -> Result<Config, String> {
    let input = Input { name: "Corefile".into(), contents: corefile.into(), dns_port: "53".into() };
    let parsed = config::parse(&input, crate::PLUGINS, &corefile::Disk).map_err(|error| error.to_string())?;
    config::set_up(parsed, crate::PLUGINS, running).map_err(|errors| errors[0].to_string())
}

fn first(corefile: &str) -> Config {
    crate::testing::harness::configure(corefile).unwrap_or_else(|error| panic!("{error}"))
}

fn ask_of(config: &Config, question: &str) -> ExplainedReply {
    ask(config.services().next().expect("a service").1, question)
}

fn corefile(to: &ScriptedUpstream, before: &str, options: &str) -> String {
    format!(". {{\n {before}\n forward . {} {{\n {options}\n }}\n}}", to.addr())
}

/// Number of sockets the upstream was queried from.
fn sockets(up: &ScriptedUpstream) -> usize {
    up.seen().iter().map(|seen| seen.from.port()).collect::<BTreeSet<_>>().len()
}

#[test]
fn sockets_survive_a_reload() {
    for (before, options, kept) in [
        ("", "", true),
        ("errors", "max_fails 7\n policy round_robin\n except example.net\n failover SERVFAIL", true),
        ("", "expire 20s", false),
        ("", "max_age 1h", false),
        ("", "read_timeout 1s", false),
        ("", "source_address 127.0.0.1", false),
        ("", "health_check 5s", false),
        ("", "health_check 500ms no_rec", false),
        ("", "mixed_case", false),
    ] {
        let up = upstream("192.0.2.1");
        let running = first(&corefile(&up, "", ""));
        ask_of(&running, "a.example A");
        let next = after(&running, &corefile(&up, before, options)).expect("it loads");
        drop(running);
        ask_of(&next, "b.example A");
        assert_eq!(sockets(&up), if kept { 1 } else { 2 }, "{before} {options}");
    }
}

#[test]
fn a_rejected_configuration_changes_nothing() {
    let up = upstream("192.0.2.1");
    let running = first(&corefile(&up, "", ""));
    ask_of(&running, "a.example A");
    assert!(after(&running, &corefile(&up, "nosuchplugin", "")).is_err());
    assert!(after(&running, &corefile(&up, "", "expire never")).is_err());
    // A valid one that never serves.
    drop(after(&running, &corefile(&up, "", "")).expect("it loads"));
    ask_of(&running, "b.example A");
    let next = after(&running, &corefile(&up, "", "")).expect("it loads");
    ask_of(&next, "c.example A");
    assert_eq!((sockets(&up), up.total()), (1, 3));
}

#[test]
fn unused_upstreams_are_dropped() {
    let up = upstream("192.0.2.1");
    let running = first(&corefile(&up, "", ""));
    ask_of(&running, "a.example A");
    let without = after(&running, ". {\n whoami\n}").expect("it loads");
    drop(running);
    let again = after(&without, &corefile(&up, "", "")).expect("it loads");
    ask_of(&again, "b.example A");
    assert_eq!(sockets(&up), 2);
}

#[test]
fn health_survives_a_reload() {
    let [bad, good] = [upstream("192.0.2.1"), upstream("192.0.2.2")];
    let options = "policy sequential\n health_check 20ms\n read_timeout 100ms\n max_fails 1";
    let corefile = |more: &str| {
        format!(". {{\n {more}\n forward . {} {} {{\n {options}\n }}\n}}", bad.addr(), good.addr())
    };
    let running = first(&corefile(""));
    bad.switch_off();
    let is_down = |config: &Config| {
        let asked = ask_of(config, "www.example A");
        asked.notes.iter().any(|note| note.text.contains(&format!("{} is down: ", bad.addr())))
    };
    eventually("it is down", || is_down(&running));
    let next = after(&running, &corefile("errors")).expect("it loads");
    drop(running);
    assert!(is_down(&next));
    bad.switch_on().expect("the port is still ours");
    eventually("it is up", || present(&ask_of(&next, "www.example A")).contains("192.0.2.1"));
}

/// A resolv.conf file changed before the reload.
#[test]
fn health_of_name_servers_from_files_survives_a_reload() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("resolv.conf");
    let write = |text: &str| std::fs::write(&path, text).expect("a file");
    write("nameserver 127.0.0.248\n");
    let corefile = format!(
        ". {{\n forward . {} {{\n policy sequential\n max_fails 1\n health_check 20ms\n read_timeout 20ms\n failfast_all_unhealthy_upstreams\n }}\n}}",
        path.display()
    );
    let running = first(&corefile);
    write("nameserver 127.0.0.249\n");
    let [task] = running.tasks() else { panic!("one file is followed") };
    (task.work)();
    let is_down = |config: &Config| {
        let asked = ask_of(config, "www.example A");
        asked.notes.iter().any(|note| note.text.contains("127.0.0.249:53 is down: "))
    };
    eventually("it is down", || is_down(&running));
    let next = after(&running, &corefile).expect("it loads");
    drop(running);
    assert!(is_down(&next));
}
