//! ConfigMaps of kube-dns and of CoreDNS.

use super::*;

const KUBE_DNS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: kube-dns
  namespace: kube-system
data:
  federations: |
    {\"prod\": \"prod.feddomain.com\"}
  stubDomains: |
    {\"my.cluster.local\": [\"2.3.4.5\", \"2.3.4.6:5300\"], \"acme.local\": [\"1.2.3.4\"]}
  upstreamNameservers: |
    [\"8.8.8.8\", \"8.8.4.4\"]
";

const COREFILE: &str = "\
.:53 {
    errors
    health {
        lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    federation cluster.local {
        prod prod.feddomain.com
    }
    prometheus :9153
    forward . 8.8.8.8 8.8.4.4 {
        max_concurrent 1000
    }
    cache 30 {
        disable success cluster.local
        disable denial cluster.local
    }
    loop
    reload
    loadbalance
}

acme.local:53 {
    errors
    cache 30
    loop
    forward . 1.2.3.4
}

my.cluster.local:53 {
    errors
    cache 30
    loop
    forward . 2.3.4.5 2.3.4.6:5300
}
";

#[test]
fn kube_dns() {
    let migrated = run(KUBE_DNS);
    assert_eq!(migrated.result, COREFILE);
    assert_eq!(
        report_lines(&migrated),
        [
            "8: 'federations' became the plugin 'federation'",
            "10: stub domain acme.local became the server block 'acme.local:53'",
            "10: stub domain my.cluster.local became the server block 'my.cluster.local:53'",
            "12: 'upstreamNameservers' became 'forward . 8.8.8.8 8.8.4.4'",
            "note: 1: the ConfigMap does not contain the cluster domain; assumed cluster.local",
            "note: 8: set 'zone' and 'region' of the cluster in 'federation'; kube-dns read them from its node",
        ]
    );
    check_loads(&migrated.result);
    // The result is a current Corefile.
    assert_eq!(run(COREFILE).changes, []);
}

#[test]
fn kube_dns_as_json() {
    let json = "{\"apiVersion\":\"v1\",\"data\":{\"stubDomains\":\"{\\n\\t\\\"acme.local\\\" : [\\\"ns.acme.com\\\"],\
                \\n \\\"b\\\": []\\n}\\n\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"kube-dns\"}}";
    let migrated = run(json);
    assert!(
        migrated.result.ends_with(
            "\nacme.local:53 {\n    errors\n    cache 30\n    loop\n    forward . ns.acme.com\n}\n"
        )
    );
    assert!(migrated.result.contains("    forward . /etc/resolv.conf {\n"));
    assert_eq!(
        report_lines(&migrated)[1..],
        [
            "note: 1: the ConfigMap does not contain the cluster domain; assumed cluster.local",
            "note: 1: ns.acme.com is a host name: it is resolved only when the Corefile is loaded",
            "note: 1: stub domain b has no servers and was skipped",
        ]
    );
}

#[test]
fn empty_config_map_of_kube_dns() {
    for text in [
        "kind: ConfigMap\nmetadata:\n  name: kube-dns\n",
        "kind: ConfigMap\nmetadata:\n  name: kube-dns\ndata: {}\n",
    ] {
        let migrated = run(text);
        assert!(
            migrated.result.contains("forward . /etc/resolv.conf {") && migrated.changes.is_empty(),
            "{text}"
        );
    }
}

#[test]
fn federations_as_on_the_command_line() {
    let text = "kind: ConfigMap\ndata:\n  federations: prod=a.example, test=b.example\n";
    let federation =
        "    federation cluster.local {\n        prod a.example\n        test b.example\n    }\n";
    assert!(run(text).result.contains(federation));
}

#[test]
fn coredns() {
    let text = "apiVersion: v1\ndata:\n  Corefile: |\n    .:53 {\n        errors\n        # up\n        proxy . 1.1.1.1\n    }\nkind: ConfigMap\n";
    let migrated = run(text);
    assert_eq!(migrated.result, ".:53 {\n    errors\n    # up\n    forward . 1.1.1.1\n}\n");
    assert_eq!(
        (migrated.file.as_str(), &report_lines(&migrated)[..]),
        ("Corefile", &["7: 'proxy' became 'forward'".to_owned()][..])
    );
    let json = "{\"kind\": \"ConfigMap\", \"data\": {\"Corefile\": \". {\\n    proxy . 1.1.1.1\\n}\\n\"}}";
    let migrated = run(json);
    assert_eq!(migrated.result, ". {\n    forward . 1.1.1.1\n}\n");
    assert_eq!(
        (migrated.file.as_str(), &report_lines(&migrated)[..]),
        ("Corefile (data.Corefile)", &["2: 'proxy' became 'forward'".to_owned()][..])
    );
}

#[test]
fn invalid_config_maps() {
    assert_eq!(run("# kind: ConfigMap\n. {\n  errors\n}\n").changes, []);
    for (text, error) in [
        ("kind: ConfigMap\n", "Corefile: the ConfigMap has none of the keys Corefile, stubDomains,"),
        ("kind: ConfigMap\ndata: [\n", "Corefile: invalid ConfigMap: "),
        ("kind: ConfigMap\ndata:\n  stubDomains: '[1'\n", "Corefile: data.stubDomains: "),
        (
            "kind: ConfigMap\ndata:\n  federations: 'x'\n",
            "Corefile: data.federations: 'x' is not NAME=DOMAIN",
        ),
        ("kind: ConfigMap\ndata:\n  Corefile: '. {'\n", "Unexpected EOF"),
    ] {
        let refused = migrate("Corefile", text).expect_err(text).to_string();
        assert!(refused.contains(error), "{refused}");
    }
}
