//! Variants of plugins that use the cluster of `kubernetes`.

use super::{PLAIN, QueryNames, Variant};

const EXAMPLE: QueryNames = QueryNames::Outside(&["example.org"]);

pub const K8S_EXTERNAL: &[Variant] = &[
    Variant { name: "k8s_external", others: "k8s_external example.org", query_names: EXAMPLE, ..PLAIN },
    Variant {
        name: "k8s_external headless",
        options: "ttl 30\nendpoint_pod_names",
        others: "k8s_external Example.org other.example in-addr.arpa {\nheadless\nttl 60\napex Ns\n}",
        query_names: QueryNames::Outside(&["example.org", "other.example"]),
        ..PLAIN
    },
    Variant {
        name: "k8s_external reverse",
        others: "k8s_external example.org in-addr.arpa ip6.arpa {\nfallthrough in-addr.arpa ip6.arpa\nttl 0\n}",
        query_names: EXAMPLE,
        ..PLAIN
    },
    Variant {
        name: "k8s_external chosen",
        options: "namespaces shop svc team-a nosuch\nlabels tier=front\nttl 7",
        others: "k8s_external example.org 192.0.2.0/24 {\nheadless\nfallthrough\n}\nwhoami",
        query_names: EXAMPLE,
        ..PLAIN
    },
    Variant {
        name: "k8s_external without endpoints",
        options: "noendpoints\nnamespace_labels team=red",
        others: "k8s_external example.org dns.example.org {\nheadless\napex a.b\n}\nloadbalance\nminimal",
        query_names: QueryNames::Outside(&["example.org", "dns.example.org", "b.example.org"]),
        ..PLAIN
    },
    Variant {
        name: "k8s_external in other classes",
        others: "chaos\nk8s_external example.org {\nheadless\n}\n\
                 template IN A example.net {\nanswer \"{{ .Name }} 60 IN A 192.0.2.9\"\n}\nwhoami",
        query_names: EXAMPLE,
        ..PLAIN
    },
    Variant {
        name: "k8s_external name servers",
        others: "k8s_external example.org {\nttl 3600\n}\ncache 10",
        query_names: EXAMPLE,
        bound: false,
        ..PLAIN
    },
];

pub const AUTOPATH: &[Variant] = &[
    Variant {
        name: "autopath",
        options: "pods verified",
        others: "autopath @kubernetes\nforward . {upstream}",
        query_names: QueryNames::SearchPaths,
        ..PLAIN
    },
    Variant {
        name: "autopath to nothing",
        options: "pods verified\nttl 30",
        others: "autopath @kubernetes",
        query_names: QueryNames::SearchPaths,
        ..PLAIN
    },
    Variant {
        name: "autopath among others",
        options: "pods verified\nfallthrough\nnamespaces shop team-a svc",
        others: "autopath svc.cluster.local @kubernetes\ncache 30\nloadbalance\nminimal\n\
                 acl {\nblock type TXT net 127.0.0.2\nfilter type AAAA net 127.0.0.3\n}\nforward . {upstream}",
        query_names: QueryNames::SearchPaths,
        ..PLAIN
    },
    Variant {
        name: "autopath without pods",
        options: "pods insecure",
        others: "autopath @kubernetes\nforward . {upstream}",
        query_names: QueryNames::SearchPaths,
        ..PLAIN
    },
];
