//! Pod names in all three modes.

use super::{block, check};

const MANIFESTS: &str = "
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Namespace
metadata: { name: other }
---
apiVersion: v1
kind: Pod
metadata: { name: web-1, namespace: shop }
status: { phase: Running, podIP: 10.244.1.7, podIPs: [{ ip: 10.244.1.7 }, { ip: 'fd00:244::7' }] }
---
apiVersion: v1
kind: Pod
metadata: { name: done, namespace: shop }
status: { phase: Succeeded, podIP: 10.244.1.8, podIPs: [{ ip: 10.244.1.8 }] }
---
# Two pods on the address of their node.
apiVersion: v1
kind: Pod
metadata: { name: host-1, namespace: shop }
status: { phase: Running, podIP: 192.0.2.1, podIPs: [{ ip: 192.0.2.1 }] }
---
apiVersion: v1
kind: Pod
metadata: { name: host-2, namespace: shop }
status: { phase: Running, podIP: 192.0.2.1, podIPs: [{ ip: 192.0.2.1 }] }
";

#[test]
fn disabled() {
    check(
        &block(""),
        MANIFESTS,
        "
10-244-1-7.shop.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
shop.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
pod.cluster.local A
    NOERROR, SOA cluster.local.
",
    );
}

#[test]
fn insecure() {
    check(
        &block("pods insecure"),
        MANIFESTS,
        "
10-244-1-7.shop.pod.cluster.local A
    NOERROR
    10-244-1-7.shop.pod.cluster.local. 5 IN A 10.244.1.7
203-0-113-9.other.pod.cluster.local A
    NOERROR
    203-0-113-9.other.pod.cluster.local. 5 IN A 203.0.113.9
fd00-244--7.shop.pod.cluster.local AAAA
    NOERROR
    fd00-244--7.shop.pod.cluster.local. 5 IN AAAA fd00:244::7
FD00-244-0-0-0-0-0-7.shop.pod.cluster.local AAAA
    NOERROR
    FD00-244-0-0-0-0-0-7.shop.pod.cluster.local. 5 IN AAAA fd00:244::7
--ffff-a00-1.shop.pod.cluster.local A
    NOERROR
    --ffff-a00-1.shop.pod.cluster.local. 5 IN A 10.0.0.1
10-244-1-7.shop.pod.cluster.local AAAA
    NOERROR, SOA cluster.local.
10-244-1-7.nosuch.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
10-244-1-256.shop.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
web-1.shop.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
shop.pod.cluster.local A
    NOERROR, SOA cluster.local.
nosuch.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
# Labels left of the address are ignored.
x.10-244-1-7.shop.pod.cluster.local A
    NOERROR
    x.10-244-1-7.shop.pod.cluster.local. 5 IN A 10.244.1.7
x.y.10-244-1-7.shop.pod.cluster.local A
    NOERROR
    x.y.10-244-1-7.shop.pod.cluster.local. 5 IN A 10.244.1.7
x.y.z.10-244-1-7.shop.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
X.10-244-1-7.Shop.pod.Cluster.local SRV
    NOERROR
    X.10-244-1-7.Shop.pod.Cluster.local. 5 IN SRV 0 100 0 10-244-1-7.shop.pod.Cluster.local.
    additional: 10-244-1-7.shop.pod.Cluster.local. 5 IN A 10.244.1.7
10-244-1-7.shop.pod.cluster.local TXT
    NOERROR, SOA cluster.local.
",
    );
}

#[test]
fn verified() {
    check(
        &block("pods verified"),
        MANIFESTS,
        "
10-244-1-7.shop.pod.cluster.local A
    NOERROR
    10-244-1-7.shop.pod.cluster.local. 5 IN A 10.244.1.7
# Every address of a pod counts, in canonical form only.
fd00-244--7.shop.pod.cluster.local AAAA
    NOERROR
    fd00-244--7.shop.pod.cluster.local. 5 IN AAAA fd00:244::7
fd00-244-0-0-0-0-0-7.shop.pod.cluster.local AAAA
    NXDOMAIN, SOA cluster.local.
10-244-1-7.other.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
10-244-1-9.shop.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
10-244-1-8.shop.pod.cluster.local A
    NXDOMAIN, SOA cluster.local.
shop.pod.cluster.local A
    NOERROR, SOA cluster.local.
192-0-2-1.shop.pod.cluster.local A
    NOERROR
    192-0-2-1.shop.pod.cluster.local. 5 IN A 192.0.2.1
192-0-2-1.shop.pod.cluster.local SRV
    NOERROR
    192-0-2-1.shop.pod.cluster.local. 5 IN SRV 0 50 0 192-0-2-1.shop.pod.cluster.local.
    additional: 192-0-2-1.shop.pod.cluster.local. 5 IN A 192.0.2.1
",
    );
}

/// Metadata about the client's pod and the parts of the name.
#[test]
fn metadata() {
    use super::serve;
    use crate::log::capture::Capture;

    let format = "{/kubernetes/client-namespace} {/kubernetes/client-pod-name} {/kubernetes/client-label/app} \
                  {/kubernetes/kind} {/kubernetes/namespace} {/kubernetes/service} {/kubernetes/endpoint} \
                  {/kubernetes/port-name} {/kubernetes/protocol} {/kubernetes/parse-error}";
    let corefile = format!(
        ".:53 {{\nmetadata\nlog . \"MARK {format}\"\nkubernetes cluster.local {{\nmanifests FOLDER\npods verified\n}}\n}}\n"
    );
    let manifests = MANIFESTS
        .replace("name: web-1, namespace: shop", "name: web-1, namespace: shop, labels: { app: web }");
    let served = serve(&corefile, &manifests);
    let log = Capture::take();
    for (question, line) in [
        ("web.shop.svc.cluster.local A from=10.244.1.7", "shop web-1 web svc shop web    -"),
        ("_http._tcp.web.shop.svc.cluster.local SRV", "- - - svc shop web  http tcp -"),
        ("a.web.shop.svc.cluster.local SRV", "- - - svc shop web a   -"),
        ("10-0-0-1.shop.pod.cluster.local A", "- - - pod shop 10-0-0-1    -"),
        ("nosuch.cluster.local A from=fd00:244::7", "shop web-1 web - - - - - - invalid query name"),
        ("example.org A", "- - - - - - - - - -"),
    ] {
        served.ask(question);
        let lines = log.lines("MARK");
        assert_eq!(lines, [format!("[INFO] MARK {line}")], "{question}");
    }
}
