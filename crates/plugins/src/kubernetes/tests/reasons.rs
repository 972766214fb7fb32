//! `explain` names the object behind every answer and every denial.

use super::shop::SHOP;
use super::{block, serve};

#[test]
fn services() {
    let served = serve(&block("pods verified\nfallthrough in-addr.arpa"), SHOP);
    for (question, reason) in [
        ("web.shop.svc.cluster.local A", "Service shop/web has ClusterIP 10.96.0.7, fd00:96::7"),
        ("_smtp._tcp.web.shop.svc.cluster.local SRV", "Service shop/web has no port smtp of protocol tcp"),
        (
            "10-244-1-7.web.shop.svc.cluster.local A",
            "Service shop/web: endpoint 10-244-1-7 has address 10.244.1.7 (EndpointSlice shop/web-1)",
        ),
        (
            "db.shop.svc.cluster.local A",
            "Service shop/db is headless and has ready endpoints: 4 (EndpointSlices shop/db-v4, shop/db-v6)",
        ),
        (
            "idle.shop.svc.cluster.local A",
            "Service shop/idle is headless and has no ready endpoints (EndpointSlice shop/idle-1)",
        ),
        (
            "db-9.db.shop.svc.cluster.local A",
            "Service shop/db is headless and has no ready endpoint db-9 (EndpointSlices shop/db-v4, shop/db-v6)",
        ),
        ("web.shopp.svc.cluster.local A", "namespace shopp does not exist"),
        ("wep.shop.svc.cluster.local A", "Service shop/wep does not exist"),
        ("shop.svc.cluster.local A", "namespace shop has no records of its own, only names below it"),
        (
            "a.b.c.d.shop.svc.cluster.local A",
            "not a name the kubernetes plugin serves: expected SERVICE.NAMESPACE.svc.cluster.local.",
        ),
        ("cluster.local A", "cluster.local. is the zone apex"),
        ("svc.cluster.local A", "the name has no records of its own, only names below it"),
        ("ns.dns.cluster.local A", "name server of cluster.local."),
        ("dns-version.cluster.local TXT", "version of the Kubernetes DNS specification"),
        ("cluster.local AXFR", "zone transfers are served by the transfer plugin, not by kubernetes"),
        ("10-244-1-7.shop.pod.cluster.local A", "no Pod in namespace shop has address 10.244.1.7"),
        ("7.0.96.10.in-addr.arpa PTR", "10.96.0.7 is an address of Service shop/web"),
        ("7.1.244.10.in-addr.arpa PTR", "10.244.1.7 is an address of EndpointSlice shop/web-1"),
        ("9.9.9.9.in-addr.arpa PTR", "no object has address 9.9.9.9"),
        ("9.9.9.9.in-addr.arpa PTR", "falls through to the next plugin"),
    ] {
        let notes = served.ask(question).notes;
        let found = notes.iter().any(|note| note.plugin == "kubernetes" && note.text == reason);
        assert!(found, "{question}: {notes:?}");
    }
}

#[test]
fn options() {
    for (options, question, reason) in [
        (
            "namespaces other",
            "web.shop.svc.cluster.local A",
            "namespace shop is not in the namespaces option",
        ),
        (
            "namespace_labels a=b",
            "web.shop.svc.cluster.local A",
            "namespace shop does not match namespace_labels",
        ),
        ("labels a=b", "web.shop.svc.cluster.local A", "Service shop/web does not match labels"),
        (
            "ignore empty_service",
            "single.shop.svc.cluster.local A",
            "Service shop/single has no ready endpoints and is hidden by ignore empty_service (no EndpointSlice)",
        ),
        (
            "noendpoints",
            "db.shop.svc.cluster.local A",
            "Service shop/db is headless, and endpoints are not watched (noendpoints)",
        ),
        ("", "10-0-0-1.shop.pod.cluster.local A", "pod names are not served (pods disabled)"),
        (
            "pods insecure",
            "10-0-0-1.shop.pod.cluster.local A",
            "namespace shop exists; no check that a pod has 10.0.0.1 (pods insecure)",
        ),
        ("pods insecure", "x.shop.pod.cluster.local A", "x is not an IP address with dashes"),
    ] {
        let notes = serve(&block(options), SHOP).ask(question).notes;
        assert!(notes.iter().any(|note| note.text == reason), "{options} {question}: {notes:?}");
    }
}
