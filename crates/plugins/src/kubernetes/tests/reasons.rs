//! Every answer, and every refusal, names the object it comes from.

use super::shop::SHOP;
use super::{block, serve};

#[test]
fn of_services() {
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
        ("shop.svc.cluster.local A", "namespace shop only has names below it"),
        ("a.b.c.d.shop.svc.cluster.local A", "names in cluster.local. have another form"),
        ("cluster.local A", "cluster.local. is the zone itself"),
        ("svc.cluster.local A", "the name only has others below it"),
        ("ns.dns.cluster.local A", "the name server of cluster.local."),
        ("dns-version.cluster.local TXT", "the version of the specification of these names"),
        ("cluster.local AXFR", "zones are handed out by the plugin transfer"),
        ("10-244-1-7.shop.pod.cluster.local A", "no Pod in namespace shop has address 10.244.1.7"),
        ("7.0.96.10.in-addr.arpa PTR", "10.96.0.7 is an address of Service shop/web"),
        ("7.1.244.10.in-addr.arpa PTR", "10.244.1.7 is an address of EndpointSlice shop/web-1"),
        ("9.9.9.9.in-addr.arpa PTR", "nobody has address 9.9.9.9"),
        ("9.9.9.9.in-addr.arpa PTR", "falls through"),
    ] {
        let notes = served.ask(question).notes;
        let found = notes.iter().any(|note| note.plugin == "kubernetes" && note.text == reason);
        assert!(found, "{question}: {notes:?}");
    }
}

#[test]
fn of_options() {
    for (options, question, reason) in [
        (
            "namespaces other",
            "web.shop.svc.cluster.local A",
            "namespace shop is not among the namespaces of this block",
        ),
        (
            "namespace_labels a=b",
            "web.shop.svc.cluster.local A",
            "namespace shop does not fit namespace_labels",
        ),
        ("labels a=b", "web.shop.svc.cluster.local A", "Service shop/web does not fit labels"),
        (
            "ignore empty_service",
            "single.shop.svc.cluster.local A",
            "Service shop/single has no ready endpoints, and such Services are ignored (no EndpointSlice)",
        ),
        (
            "noendpoints",
            "db.shop.svc.cluster.local A",
            "Service shop/db is headless, and endpoints are not watched (noendpoints)",
        ),
        ("", "10-0-0-1.shop.pod.cluster.local A", "names of pods are not answered (pods disabled)"),
        (
            "pods insecure",
            "10-0-0-1.shop.pod.cluster.local A",
            "namespace shop exists; whether a pod has 10.0.0.1 is not checked (pods insecure)",
        ),
        ("pods insecure", "x.shop.pod.cluster.local A", "x is no address"),
    ] {
        let notes = serve(&block(options), SHOP).ask(question).notes;
        assert!(notes.iter().any(|note| note.text == reason), "{options} {question}: {notes:?}");
    }
}
