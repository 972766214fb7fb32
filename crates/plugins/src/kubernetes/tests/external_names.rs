//! ExternalName Services.

use super::{check, serve};

const MANIFESTS: &str = "
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], ports: [{ name: http, port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: out, namespace: shop }
spec: { type: ExternalName, externalName: www.example.org }
---
apiVersion: v1
kind: Service
metadata: { name: denied, namespace: shop }
spec: { type: ExternalName, externalName: nosuch.example.org. }
---
apiVersion: v1
kind: Service
metadata: { name: inside, namespace: shop }
spec: { type: ExternalName, externalName: web.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: twice, namespace: shop }
spec: { type: ExternalName, externalName: inside.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: twice-out, namespace: shop }
spec: { type: ExternalName, externalName: out.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: nowhere, namespace: shop }
spec: { type: ExternalName, externalName: nosuch.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: self, namespace: shop }
spec: { type: ExternalName, externalName: self.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: below, namespace: shop }
spec: { type: ExternalName, externalName: x.below.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: tick, namespace: shop }
spec: { type: ExternalName, externalName: tock.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: tock, namespace: shop }
spec: { type: ExternalName, externalName: tick.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: address, namespace: shop }
spec: { type: ExternalName, externalName: 192.0.2.1 }
";

const COREFILE: &str = ".:53 {
    kubernetes cluster.local {
        manifests FOLDER
    }
    hosts {
        192.0.2.10 www.example.org
        192.0.2.11 www.example.org
        ttl 60
        fallthrough
    }
}
";

#[test]
pub(super) fn section_2_5_external_names() {
    check(
        COREFILE,
        MANIFESTS,
        "
out.shop.svc.cluster.local CNAME
    NOERROR
    out.shop.svc.cluster.local. 5 IN CNAME www.example.org.
# The target is looked up through the whole server.
Out.shop.svc.cluster.local A
    NOERROR
    Out.shop.svc.cluster.local. 5 IN CNAME www.example.org.
    www.example.org. 60 IN A 192.0.2.10
    www.example.org. 60 IN A 192.0.2.11
out.shop.svc.cluster.local AAAA
    NOERROR
    out.shop.svc.cluster.local. 5 IN CNAME www.example.org.
# The CNAME holds even if its target does not exist.
denied.shop.svc.cluster.local A
    NOERROR
    denied.shop.svc.cluster.local. 5 IN CNAME nosuch.example.org.
out.shop.svc.cluster.local SRV
    NOERROR, SOA cluster.local.
out.shop.svc.cluster.local TXT
    NOERROR, SOA cluster.local.
out.shop.svc.cluster.local MX
    NOERROR, SOA cluster.local.
# There is nothing below it.
_http._tcp.out.shop.svc.cluster.local SRV
    NXDOMAIN, SOA cluster.local.
x.out.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
address.shop.svc.cluster.local A
    NXDOMAIN, SOA cluster.local.
",
    );
}

/// As in CoreDNS, the end of a chain is looked up in IN.
#[test]
fn chains_in_other_classes() {
    let corefile = COREFILE.replace(
        "    hosts {",
        "    chaos\n    template IN A www.example.org {\n        answer \"{{ .Name }} 60 IN A 192.0.2.9\"\n    }\n    hosts {",
    );
    for class in ["CH", "HS"] {
        check(
            &corefile,
            MANIFESTS,
            &format!(
                "
twice-out.shop.svc.cluster.local A class={class}
    NOERROR
    twice-out.shop.svc.cluster.local. 5 IN CNAME out.shop.svc.cluster.local.
    out.shop.svc.cluster.local. 5 IN CNAME www.example.org.
    www.example.org. 60 IN A 192.0.2.9
"
            ),
        );
    }
}

#[test]
fn chains_inside_the_zone() {
    check(
        COREFILE,
        MANIFESTS,
        "
inside.shop.svc.cluster.local A
    NOERROR
    inside.shop.svc.cluster.local. 5 IN CNAME web.shop.svc.cluster.local.
    web.shop.svc.cluster.local. 5 IN A 10.96.0.7
twice.shop.svc.cluster.local A
    NOERROR
    twice.shop.svc.cluster.local. 5 IN CNAME inside.shop.svc.cluster.local.
    inside.shop.svc.cluster.local. 5 IN CNAME web.shop.svc.cluster.local.
    web.shop.svc.cluster.local. 5 IN A 10.96.0.7
twice-out.shop.svc.cluster.local A
    NOERROR
    twice-out.shop.svc.cluster.local. 5 IN CNAME out.shop.svc.cluster.local.
    out.shop.svc.cluster.local. 5 IN CNAME www.example.org.
    www.example.org. 60 IN A 192.0.2.10
    www.example.org. 60 IN A 192.0.2.11
# No records of the type at the end, a missing end, or a loop: NODATA without the CNAME records.
inside.shop.svc.cluster.local AAAA
    NOERROR, SOA cluster.local.
nowhere.shop.svc.cluster.local A
    NOERROR, SOA cluster.local.
self.shop.svc.cluster.local A
    NOERROR, SOA cluster.local.
below.shop.svc.cluster.local A
    NOERROR, SOA cluster.local.
tick.shop.svc.cluster.local A
    NOERROR, SOA cluster.local.
# A CNAME query has the record itself.
tick.shop.svc.cluster.local CNAME
    NOERROR
    tick.shop.svc.cluster.local. 5 IN CNAME tock.shop.svc.cluster.local.
",
    );
}

/// Eleven links are followed, twelve are not.
#[test]
fn chains_have_at_most_eleven_links() {
    let web = MANIFESTS.split("---").next().unwrap();
    let link = |n: usize| {
        let target = if n == 1 { "web".to_owned() } else { format!("link-{}", n - 1) };
        format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{ name: link-{n}, namespace: shop }}\nspec: {{ type: \
             ExternalName, externalName: {target}.shop.svc.cluster.local }}\n"
        )
    };
    let served = serve(COREFILE, &format!("{web}{}", (1..=12).map(link).collect::<String>()));
    for (links, records) in [(1, 2), (10, 11), (11, 12), (12, 0)] {
        let answer = served.answer(&format!("link-{links}.shop.svc.cluster.local A"));
        assert_eq!(answer.lines().count() - 1, records, "{answer}");
    }
}

/// The target's reply is truncated, delayed or dropped.
#[test]
fn target_replies() {
    let (kubernetes, _) = COREFILE.split_once("hosts {").unwrap();
    let cname = "out.shop.svc.cluster.local. 5 IN CNAME www.example.org.\n";
    let address = "www.example.org. 0 IN A 192.0.2.53\n";
    for (erratic, expected) in [
        ("truncate 1", format!("NOERROR truncated\n{cname}{address}")),
        ("delay 1 10ms", format!("NOERROR\n{cname}{address}")),
        ("drop 1", "NOERROR, SOA cluster.local.\n".to_owned()),
    ] {
        let served = serve(&format!("{kubernetes}erratic {{\n{erratic}\n}}\n}}\n"), MANIFESTS);
        assert_eq!(served.answer("out.shop.svc.cluster.local A"), expected, "{erratic}");
    }
}
