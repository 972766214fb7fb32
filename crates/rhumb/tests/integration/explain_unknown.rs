//! `rhumb explain` with failing servers: unknown objects are never reported as absent, and the exit code shows it.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::cluster::objects::{Object, Resource};
use testkit::scripted_api::{Fault, ScriptedApi};
use testkit::scripted_upstream::{ScriptedUpstream, Step};

/// Explain promises ten seconds; the rest is for busy machines.
const LIMIT: Duration = Duration::from_secs(15);

const ANSWERED: i32 = 0;
const WRONG: i32 = 1;
const UNKNOWN: i32 = 2;

const WEB: &str = "web.shop.svc.cluster.local";
const DB: &str = "db.shop.svc.cluster.local";

/// Name of the case, faults of the API server, the query name, and the exit code.
type Case<'a> = (&'static str, &'a [(Resource, Fault)], &'static str, i32);

/// Corefile, arguments, `$KUBECONFIG`, exit code, and a part of the output.
type Choice<'a> = (&'a str, &'a [&'a str], Option<&'a str>, i32, &'a str);

fn objects() -> Vec<Object> {
    let object = |resource, name: &str, mut body: serde_json::Value| {
        body["metadata"]["name"] = name.into();
        let namespace = if resource == Resource::Namespace { "" } else { "shop" };
        Object::new(resource, namespace, name, body)
    };
    vec![
        object(Resource::Namespace, "shop", json!({})),
        object(
            Resource::Service,
            "web",
            json!({"spec": {"clusterIP": "10.96.0.10", "clusterIPs": ["10.96.0.10"]}}),
        ),
        object(Resource::Service, "db", json!({"spec": {"clusterIP": "None", "clusterIPs": ["None"]}})),
        object(
            Resource::EndpointSlice,
            "db-1",
            json!({
                "metadata": {"labels": {"kubernetes.io/service-name": "db"}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.244.1.8"], "conditions": {"ready": true}}],
            }),
        ),
    ]
}

fn api(faults: &[(Resource, Fault)]) -> ScriptedApi {
    let api = ScriptedApi::start(objects()).unwrap();
    faults.iter().for_each(|(resource, fault)| api.on(*resource, *fault));
    api
}

/// Blocks for `kubernetes` and `k8s_external`.
fn corefile(source: &str) -> String {
    let kubernetes = format!("kubernetes cluster.local {{\n        {source}\n    }}");
    format!("cluster.local:53 example.org:53 {{\n    {kubernetes}\n    k8s_external example.org\n}}\n")
}

/// Runs `rhumb explain` in its own folder with this Corefile. Returns the exit code and the output, with `hidden`
/// replaced: ports and times vary.
fn explain(
    corefile: Option<&str>,
    args: &[&str],
    environment: &[(&str, &str)],
    hidden: &[(&str, &str)],
) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    if let Some(corefile) = corefile {
        fs::write(folder.path().join("Corefile"), corefile).unwrap();
    }
    run(folder.path(), args, environment, hidden)
}

fn run(folder: &Path, args: &[&str], environment: &[(&str, &str)], hidden: &[(&str, &str)]) -> (i32, String) {
    let began = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_rhumb"))
        .arg("explain")
        .args(args)
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .envs(environment.iter().copied())
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(began.elapsed() < LIMIT, "{args:?} took {:?}", began.elapsed());
    let code = output.status.code().unwrap();
    let mut text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    for (from, to) in hidden {
        text = text.replace(from, to);
    }
    (code, format!("{}\n[exit code {code}]\n", without_varying_parts(&text)))
}

/// Replaces times, client ports and zone serials, which vary.
fn without_varying_parts(text: &str) -> String {
    let is_time = |word: &str| {
        let number = word.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == 'µ');
        number != word && number.parse::<f64>().is_ok() && word.ends_with('s')
    };
    let line = |line: &str| {
        let mut words: Vec<&str> = line.split(' ').collect();
        if let Some(soa) = words.iter().position(|word| *word == "SOA")
            && words.len() == soa + 8
        {
            words[soa + 3] = "SERIAL";
        }
        words.iter_mut().filter(|word| is_time(word)).for_each(|word| *word = "TIME");
        words
            .iter_mut()
            .filter(|word| word.starts_with("127.0.0.1:") && word.contains("->"))
            .for_each(|word| *word = "CLIENT->UPSTREAM:");
        words.join(" ")
    };
    text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_not_known_is_not_absent() {
    use Fault::{Forbidden, Silence, Unauthorized, Unfinished};
    use Resource::{EndpointSlice, Namespace, Service};
    let unauthorized = [Namespace, Service, EndpointSlice].map(|resource| (resource, Unauthorized));
    let cases: Vec<Case<'_>> = vec![
        ("fine", &[], WEB, ANSWERED),
        ("fine-and-absent", &[], "wep.shop.svc.cluster.local", ANSWERED),
        ("forbidden-services", &[(Service, Forbidden)], WEB, UNKNOWN),
        ("forbidden-namespaces", &[(Namespace, Forbidden)], WEB, UNKNOWN),
        ("forbidden-endpointslices", &[(EndpointSlice, Forbidden)], DB, UNKNOWN),
        ("forbidden-and-not-needed", &[(EndpointSlice, Forbidden)], WEB, ANSWERED),
        ("forbidden-and-truly-absent", &[(EndpointSlice, Forbidden)], "db.shopp.svc.cluster.local", UNKNOWN),
        ("forbidden-outside", &[(Service, Forbidden)], "web.shop.example.org", UNKNOWN),
        ("unauthorized", &unauthorized, WEB, UNKNOWN),
        ("half-listed", &[(EndpointSlice, Unfinished)], DB, UNKNOWN),
        ("silent-about-services", &[(Service, Silence)], WEB, UNKNOWN),
    ];
    let check = |(case, faults, name, code): &Case<'_>| {
        let api = api(faults);
        let corefile = corefile(&format!("endpoint {}", api.url()));
        (*case, *code, explain(Some(&corefile), &[name], &[], &[(&api.url(), "API")]))
    };
    let results: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = cases.iter().map(|case| scope.spawn(|| check(case))).collect();
        running.into_iter().map(|case| case.join().unwrap()).collect()
    });
    for (case, code, (got, text)) in results {
        insta::assert_snapshot!(case, text);
        assert_eq!(got, code, "{case}: {text}");
    }
}

#[test]
fn servers_that_do_not_answer() {
    // The kernel accepts connections for it; no process reads them.
    let hung = TcpListener::bind("127.0.0.1:0").unwrap();
    let hung = (format!("http://{}", hung.local_addr().unwrap()), hung);
    for (case, url) in [("down", "http://127.0.0.1:1"), ("hung", &hung.0)] {
        let (code, text) = explain(Some(&corefile(&format!("endpoint {url}"))), &[WEB], &[], &[(url, "API")]);
        insta::assert_snapshot!(case, text);
        assert_eq!(code, UNKNOWN, "{case}");
    }
    // Not the timeout in the Corefile.
    let patient = corefile(&format!("endpoint {}\n startup_timeout 1h", hung.0));
    let (code, text) = explain(Some(&patient), &[WEB, "--output", "json"], &[], &[]);
    assert!(code == UNKNOWN && text.contains("\"complete\": false"), "{text}");
}

#[test]
fn corefile_that_is_a_fifo_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("Corefile");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let (code, text) = run(folder.path(), &["a.example"], &[], &[]);
    assert_eq!((code, text.as_str()), (1, "open Corefile: is not a regular file\n[exit code 1]\n"));
}

/// Flags override the Corefile, which overrides the environment.
#[test]
fn kubeconfigs() {
    let (api, nowhere) = (api(&[]), "http://127.0.0.1:1");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, url: &str| {
        let path = folder.path().join(name);
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [
                {"name": "api", "cluster": {"server": api.url()}},
                {"name": name, "cluster": {"server": url}},
            ],
            "users": [{"name": "x", "user": {}}],
            "contexts": [
                {"name": "api", "context": {"cluster": "api", "user": "x"}},
                {"name": name, "context": {"cluster": name, "user": "x"}},
            ],
        });
        fs::write(&path, text.to_string()).unwrap();
        path.display().to_string()
    };
    let (good, bad) = (file("good", &api.url()), file("bad", nowhere));
    let (in_pod, at_api, at_nowhere) = (
        corefile(""),
        corefile(&format!("endpoint {}", api.url())),
        corefile(&format!("endpoint {nowhere}")),
    );
    let several = format!("{}/missing:{good}:{bad}", folder.path().display());
    let answered = "Service shop/web has ClusterIP 10.96.0.10";
    let unreachable = "cannot reach http://127.0.0.1:1: ";
    let (good, bad) = (good.as_str(), bad.as_str());
    let cases: &[Choice<'_>] = &[
        (&in_pod, &["--kubeconfig", good], None, ANSWERED, answered),
        (&in_pod, &["--kubeconfig", good], Some(bad), ANSWERED, answered),
        (&in_pod, &["--kubeconfig", bad, "--context", "api"], None, ANSWERED, answered),
        (&in_pod, &[], Some(good), ANSWERED, answered),
        (&in_pod, &[], Some(&several), ANSWERED, answered),
        (&in_pod, &["--context", "api"], Some(bad), ANSWERED, answered),
        (&in_pod, &["--kubeconfig", bad], None, UNKNOWN, unreachable),
        (&in_pod, &[], Some(bad), UNKNOWN, unreachable),
        (&at_api, &[], Some(bad), ANSWERED, answered),
        (&at_nowhere, &[], Some(good), UNKNOWN, unreachable),
        (&at_nowhere, &["--kubeconfig", good], None, ANSWERED, answered),
        (
            &in_pod,
            &["--kubeconfig", "/nope"],
            None,
            WRONG,
            "plugin/kubernetes: stat /nope: no such file or directory",
        ),
        (&in_pod, &["--kubeconfig", good, "--context", "nope"], None, WRONG, ", context \"nope\": "),
        (
            &in_pod,
            &["--context", "api"],
            None,
            WRONG,
            "--context api: no kubeconfig; name one with --kubeconfig",
        ),
        (
            &in_pod,
            &[],
            None,
            WRONG,
            "outside a pod, name the cluster with --kubeconfig FILE or in $KUBECONFIG",
        ),
    ];
    for (corefile, args, environment, code, expected) in cases {
        let environment: Vec<_> = environment.iter().map(|value| ("KUBECONFIG", *value)).collect();
        let (got, text) = explain(Some(corefile), &[&[WEB], *args].concat(), &environment, &[]);
        assert!(got == *code && text.contains(expected), "{args:?} {environment:?}: {text}");
    }
}

#[test]
fn usage() {
    for (args, expected) in [
        (
            &[WEB][..],
            "./Corefile does not exist; name one with --conf FILE, or pipe it in with --conf stdin\n",
        ),
        (&[WEB, "--bogus"], "error: unexpected argument '--bogus' found\n"),
    ] {
        let (code, text) = explain(None, args, &[], &[]);
        assert!(code == WRONG && text.starts_with(expected), "{args:?}: {text}");
    }
}

#[test]
fn every_upstream_that_was_asked_is_shown() {
    let [off, silent, good] = [(); 3].map(|()| ScriptedUpstream::start().unwrap());
    off.switch_off();
    silent.silence();
    good.on("www.example.", [Step::address("192.0.2.1", 300).unwrap()]);
    let addrs = [&off, &silent, &good].map(|upstream| upstream.addr().to_string());
    let hidden = [(addrs[0].as_str(), "OFF"), (&addrs[1], "SILENT"), (&addrs[2], "GOOD")];
    let corefile = |to: &str| {
        format!(
            ".:53 {{\n    forward . {to} {{\n        policy sequential\n        read_timeout 100ms\n    }}\n}}\n"
        )
    };
    for (case, to) in [("forwarded", addrs.join(" ")), ("forwarded-in-vain", addrs[..2].join(" "))] {
        let (code, text) = explain(Some(&corefile(&to)), &["www.example"], &[], &hidden);
        insta::assert_snapshot!(case, text);
        assert_eq!(code, ANSWERED, "{case}");
    }
}
