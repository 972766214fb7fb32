use std::fs;
use std::time::{Duration, Instant};

use crate::harness::{answer, configure, refused, service};
use crate::kubernetes::tests::{check_on, serve};

/// Three domains; `hosts` knows a name in each, and one that is complete.
fn searching(lines: &str) -> (String, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("resolv.conf"),
        "nameserver 127.0.0.1\nsearch A.example b.example. c.example\n",
    )
    .unwrap();
    let path = folder.path().join("resolv.conf").display().to_string();
    let hosts = "hosts {\n10.0.0.1 one.a.example\n10.0.0.2 two.b.example\n10.0.0.3 three.c.example\n\
                 10.0.0.4 complete\n}\n";
    (format!(".:53 {{\nautopath {lines}\n{hosts}\n}}\n").replace("FILE", &path), folder)
}

#[test]
fn the_first_domain_that_has_the_name_answers() {
    let (corefile, _folder) = searching("FILE");
    let service = service(&corefile);
    for (question, expected) in [
        ("one.a.example A", "NOERROR qr,aa\nanswer: one.a.example. 3600 IN A 10.0.0.1\n"),
        (
            "two.a.example A",
            "NOERROR qr,aa\nanswer: two.a.example. 3600 IN CNAME two.b.example.\n\
             answer: two.b.example. 3600 IN A 10.0.0.2\n",
        ),
        (
            "Three.A.Example A",
            "NOERROR qr,aa\nanswer: Three.A.Example. 3600 IN CNAME three.c.example.\n\
             answer: three.c.example. 3600 IN A 10.0.0.3\n",
        ),
        (
            "complete.a.example A",
            "NOERROR qr,aa\nanswer: complete.a.example. 3600 IN CNAME complete.\n\
             answer: complete. 3600 IN A 10.0.0.4\n",
        ),
        // Nothing of the type is an answer too.
        ("two.a.example AAAA", "NOERROR qr,aa\n"),
        // Only the first domain begins a search.
        ("one.b.example A", "SERVFAIL qr\n"),
        ("two.b.example A", "NOERROR qr,aa\nanswer: two.b.example. 3600 IN A 10.0.0.2\n"),
        // The domain itself is no name in it.
        ("a.example A", "SERVFAIL qr\n"),
        (". A", "SERVFAIL qr\n"),
        ("two.a.example AXFR tcp", "SERVFAIL qr\n"),
    ] {
        assert_eq!(answer(&service, question), expected, "{question}");
    }
}

#[test]
fn zones_say_which_names_are_searched_for() {
    let (corefile, _folder) = searching("a.example other FILE");
    let found = "NOERROR qr,aa\nanswer: two.a.example. 3600 IN CNAME two.b.example.\n\
                 answer: two.b.example. 3600 IN A 10.0.0.2\n";
    assert_eq!(answer(&service(&corefile), "two.a.example A"), found);
    let (corefile, _folder) = searching("x.a.example other FILE");
    assert_eq!(answer(&service(&corefile), "two.a.example A"), "SERVFAIL qr\n");
}

/// Where a template refuses the name the search goes on; where an ACL does, it ends.
#[test]
fn refusals() {
    let found = "NOERROR qr,aa\nanswer: two.a.example. 3600 IN CNAME two.b.example.\n\
                 answer: two.b.example. 3600 IN A 10.0.0.2\n";
    for code in ["REFUSED", "FORMERR", "NOTIMP"] {
        let lines = format!(
            "FILE\ntemplate ANY ANY a.example {{\nrcode {code}\nauthority \"a.example. 5 NS a.example.\"\n}}\n\
             template ANY ANY . {{\nmatch ^none\nrcode NXDOMAIN\nfallthrough\n}}"
        );
        let (corefile, _folder) = searching(&lines);
        let service = service(&corefile);
        assert_eq!(answer(&service, "two.a.example A"), found, "{code}");
        assert_eq!(answer(&service, "none.a.example A"), format!("{code} qr\n"));
    }
    let (corefile, _folder) = searching("FILE\nacl a.example {\nblock\n}");
    assert!(answer(&service(&corefile), "two.a.example A").starts_with("REFUSED qr\n"));
}

const CLUSTER: &str = "
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{ name: http, port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: bank }
spec: { clusterIP: 10.96.0.8, clusterIPs: [10.96.0.8], ports: [{ name: http, port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: out, namespace: shop }
spec: { type: ExternalName, externalName: complete }
";

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: { name: client, namespace: NAMESPACE }
status: { phase: Running, podIP: 10.240.0.1, podIPs: [{ ip: 10.240.0.1 }] }
";

const COREFILE: &str = ".:53 {
    autopath @kubernetes
    kubernetes cluster.local {
        manifests FOLDER
        pods verified
        startup_timeout 2s
    }
    hosts {
        10.0.0.4 complete
        fallthrough cluster.local
    }
}
";

#[test]
fn a_pod_searches_in_its_namespace() {
    let manifests = format!("{CLUSTER}---{}", POD.replace("NAMESPACE", "shop"));
    let served = serve(COREFILE, &manifests);
    check_on(
        &served,
        "
web.shop.svc.cluster.local A from=10.240.0.1
    NOERROR
    web.shop.svc.cluster.local. 5 IN A 10.96.0.7
web.bank.shop.svc.cluster.local A from=10.240.0.1
    NOERROR
    web.bank.shop.svc.cluster.local. 5 IN CNAME web.bank.svc.cluster.local.
    web.bank.svc.cluster.local. 5 IN A 10.96.0.8
web.bank.svc.Shop.svc.Cluster.local A from=10.240.0.1
    NOERROR
    web.bank.svc.Shop.svc.Cluster.local. 5 IN CNAME web.bank.svc.cluster.local.
    web.bank.svc.cluster.local. 5 IN A 10.96.0.8
complete.shop.svc.cluster.local A from=10.240.0.1
    NOERROR
    complete.shop.svc.cluster.local. 3600 IN CNAME complete.
    complete. 3600 IN A 10.0.0.4
# Another alias stands in front of the one that is there.
out.shop.svc.cluster.local A from=10.240.0.1
    NOERROR
    out.shop.svc.cluster.local. 3600 IN CNAME complete.
    out.shop.svc.cluster.local. 5 IN CNAME complete.
    complete. 3600 IN A 10.0.0.4
# Somebody else's namespace, and nobody's pod.
complete.bank.svc.cluster.local A from=10.240.0.1
    NXDOMAIN, SOA cluster.local.
complete.shop.svc.cluster.local A from=10.240.0.2
    NXDOMAIN, SOA cluster.local.
# Not below: the namespace itself.
shop.svc.cluster.local A from=10.240.0.1
    NOERROR, SOA cluster.local.
",
    );
    let notes = served.ask("web.bank.Shop.svc.cluster.local A from=10.240.0.1").notes;
    for text in [
        "the client searches in shop.svc.cluster.local. first",
        "not there: asks for web.bank.svc.cluster.local.",
        "domain 2 of the search path has the name",
    ] {
        let said = notes.iter().any(|note| note.plugin == "autopath" && note.text == text);
        assert!(said, "{text}: {notes:?}");
    }
}

#[test]
fn names_that_are_not_searched_for_have_a_reason() {
    let manifests = format!("{CLUSTER}---{}", POD.replace("NAMESPACE", "shop"));
    let served = serve(COREFILE, &manifests);
    for (question, reason) in [
        ("web.bank.svc.cluster.local A from=10.240.0.1", "the client does not begin a search with this name"),
        ("web.bank.svc.cluster.local A from=10.240.0.2", "nobody knows where the client searches"),
    ] {
        let notes = served.ask(question).notes;
        let said = notes.iter().any(|note| note.plugin == "autopath" && note.text == reason);
        assert!(said, "{question}: {notes:?}");
    }
}

/// Names that nobody has, with a plugin behind the cluster that denies.
#[test]
fn the_first_reply_stands_if_nobody_has_the_name() {
    let manifests = format!("{CLUSTER}---{}", POD.replace("NAMESPACE", "shop"));
    let corefile = COREFILE.replace("kubernetes cluster.local {", "kubernetes . {");
    let corefile = corefile.replace("fallthrough cluster.local", "fallthrough");
    let served = serve(&corefile, &manifests);
    // In the zone of the root the path is shop.svc, svc and the root.
    check_on(
        &served,
        "
web.shop.svc A from=10.240.0.1
    NOERROR
    web.shop.svc. 5 IN A 10.96.0.7
web.bank.shop.svc A from=10.240.0.1
    NOERROR
    web.bank.shop.svc. 5 IN CNAME web.bank.svc.
    web.bank.svc. 5 IN A 10.96.0.8
NoSuch.Shop.svc A from=10.240.0.1
    NXDOMAIN, SOA .
",
    );
    let notes = served.ask("nosuch.shop.svc A from=10.240.0.1").notes;
    assert!(notes.iter().any(|note| note.text.ends_with("the first reply stands")), "{notes:?}");
}

/// Pods that nobody verified are not known.
#[test]
fn other_modes_of_pods_search_nowhere() {
    let manifests = format!("{CLUSTER}---{}", POD.replace("NAMESPACE", "shop"));
    for mode in ["disabled", "insecure"] {
        let served = serve(&COREFILE.replace("verified", mode), &manifests);
        check_on(
            &served,
            "
complete.shop.svc.cluster.local A from=10.240.0.1
    NXDOMAIN, SOA cluster.local.
",
        );
    }
}

/// The address goes from a pod to one of another namespace: the next query after the change is searched for there.
#[test]
fn a_reused_address_is_right_at_once() {
    let pod = |namespace: &str| POD.replace("NAMESPACE", namespace);
    let served = serve(COREFILE, &format!("{CLUSTER}---{}", pod("shop")));
    let searched = |namespace: &str| {
        let question = format!("complete.{namespace}.svc.cluster.local A from=10.240.0.1");
        served.answer(&question).contains("CNAME complete.")
    };
    assert!(searched("shop") && !searched("bank"));
    fs::write(served.folder.path().join("cluster.yaml"), format!("{CLUSTER}---{}", pod("bank"))).unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while !searched("bank") {
        assert!(Instant::now() < end, "the new pod is never known");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!searched("shop"), "the old namespace is gone with the pod");
}

#[test]
fn mistakes() {
    assert_eq!(refused(".:53 {\nautopath\n}\n"), "plugin/autopath: no resolv-conf specified");
    assert_eq!(
        refused(".:53 {\nautopath a b /nosuch/file\n}\n"),
        "plugin/autopath: failed to parse \"/nosuch/file\": open /nosuch/file: no such file or directory"
    );
    let config = configure(".:53 {\nautopath @whoami\nwhoami\n}\n").unwrap();
    let error = config.prepare().unwrap_err();
    assert_eq!(error, "plugin/autopath: whoami does not implement the AutoPather interface");
    // A plugin that is not there is only warned about, and nothing is searched.
    let config = configure(".:53 {\nautopath @kubernetes\nwhoami\n}\n").unwrap();
    config.prepare().unwrap();
    assert_eq!(config.warnings.len(), 1);
}

#[test]
fn what_is_found_is_counted() {
    let (corefile, _folder) = searching("FILE");
    let service = service(&corefile.replace(":53", ":7151"));
    for question in ["one.a.example A", "two.a.example A", "nosuch.a.example A", "two.b.example A"] {
        answer(&service, question);
    }
    let text = metrics::registry().encode();
    let line = "coredns_autopath_success_total{server=\"dns://:7151\"} 2";
    assert!(text.lines().any(|found| found == line), "{text}");
}

#[test]
fn erratic_has_a_path_for_tests() {
    let service =
        service(".:53 {\nautopath @erratic\nacl b.example.org {\nblock\n}\nerratic {\ndrop 0\n}\n}\n");
    let text = answer(&service, "x.a.example.org A");
    assert!(text.starts_with("NOERROR"), "{text}");
}
