use std::fs;
use std::time::{Duration, Instant};

use crate::kubernetes::tests::{check_on, serve};
use crate::testing::harness::{answer, configure, refused, service};

/// Three domains; `hosts` has a name in each, and one that is fully qualified.
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
        // NODATA is an answer too.
        ("two.a.example AAAA", "NOERROR qr,aa\n"),
        // Only names in the first domain are searched.
        ("one.b.example A", "SERVFAIL qr\n"),
        ("two.b.example A", "NOERROR qr,aa\nanswer: two.b.example. 3600 IN A 10.0.0.2\n"),
        // The domain itself is not searched.
        ("a.example A", "SERVFAIL qr\n"),
        (". A", "SERVFAIL qr\n"),
        ("two.a.example AXFR tcp", "SERVFAIL qr\n"),
    ] {
        assert_eq!(answer(&service, question), expected, "{question}");
    }
}

#[test]
fn zones_limit_which_names_are_searched() {
    let (corefile, _folder) = searching("a.example other FILE");
    let found = "NOERROR qr,aa\nanswer: two.a.example. 3600 IN CNAME two.b.example.\n\
                 answer: two.b.example. 3600 IN A 10.0.0.2\n";
    assert_eq!(answer(&service(&corefile), "two.a.example A"), found);
    let (corefile, _folder) = searching("x.a.example other FILE");
    assert_eq!(answer(&service(&corefile), "two.a.example A"), "SERVFAIL qr\n");
}

/// REFUSED from a template continues the search; REFUSED from an ACL ends it.
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
# The CNAME of the search precedes the existing one.
out.shop.svc.cluster.local A from=10.240.0.1
    NOERROR
    out.shop.svc.cluster.local. 3600 IN CNAME complete.
    out.shop.svc.cluster.local. 5 IN CNAME complete.
    complete. 3600 IN A 10.0.0.4
# Another pod's namespace, and an address without a pod.
complete.bank.svc.cluster.local A from=10.240.0.1
    NXDOMAIN, SOA cluster.local.
complete.shop.svc.cluster.local A from=10.240.0.2
    NXDOMAIN, SOA cluster.local.
# The namespace itself.
shop.svc.cluster.local A from=10.240.0.1
    NOERROR, SOA cluster.local.
",
    );
    let notes = served.ask("web.bank.Shop.svc.cluster.local A from=10.240.0.1").notes;
    for text in [
        "first domain of the client's search path is shop.svc.cluster.local.",
        "no such name; querying web.bank.svc.cluster.local.",
        "domain 2 of the search path has the name",
    ] {
        let noted = notes.iter().any(|note| note.plugin == "autopath" && note.text == text);
        assert!(noted, "{text}: {notes:?}");
    }
}

#[test]
fn explain_names_that_are_not_searched() {
    let manifests = format!("{CLUSTER}---{}", POD.replace("NAMESPACE", "shop"));
    let served = serve(COREFILE, &manifests);
    for (question, reason) in [
        (
            "web.bank.svc.cluster.local A from=10.240.0.1",
            "no search: the name is not in the first domain of the client's search path",
        ),
        ("web.bank.svc.cluster.local A from=10.240.0.2", "no search: the client's search path is not known"),
    ] {
        let notes = served.ask(question).notes;
        let noted = notes.iter().any(|note| note.plugin == "autopath" && note.text == reason);
        assert!(noted, "{question}: {notes:?}");
    }
}

/// Names in no domain, with a plugin after kubernetes that answers NXDOMAIN.
#[test]
fn the_client_gets_the_first_reply_if_no_domain_has_the_name() {
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
    assert!(notes.iter().any(|note| note.text.ends_with("the client gets the first reply")), "{notes:?}");
}

/// Pods are watched with `pods verified` only.
#[test]
fn other_modes_of_pods_do_not_search() {
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

/// The address moves to a pod in another namespace: the next query after the change is searched there.
#[test]
fn a_reused_address_is_searched_in_the_new_namespace() {
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
        assert!(Instant::now() < end, "the new pod is not indexed");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!searched("shop"), "the old namespace is still searched");
}

#[test]
fn mistakes() {
    assert_eq!(refused(".:53 {\nautopath\n}\n"), "plugin/autopath: no resolv-conf specified");
    assert_eq!(
        refused(".:53 {\nautopath a b /nosuch/file\n}\n"),
        "plugin/autopath: failed to parse \"/nosuch/file\": open /nosuch/file: no such file or directory"
    );
    assert_eq!(
        refused(".:53 {\nautopath @whoami\nwhoami\n}\n"),
        "plugin/autopath: whoami does not implement the AutoPather interface"
    );
    // A plugin that is not in the block only causes a warning, and nothing is searched.
    let config = configure(".:53 {\nautopath @kubernetes\nwhoami\n}\n").unwrap();
    config.prepare().unwrap();
    assert_eq!(config.warnings.len(), 1);
}

#[test]
fn successful_searches_are_counted() {
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
