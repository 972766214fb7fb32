//! `rhumb explain` on the example's cluster: each answer and each denial names its object.

use std::path::Path;
use std::process::{Command, Stdio};

/// With verified pods, and one block for a single namespace.
const COREFILE: &str = "cluster.local:53 10.0.0.0/8:53 {
    kubernetes {
        manifests CLUSTER
        pods verified
        zonal
    }
}
payments.local:53 {
    kubernetes payments.local {
        manifests CLUSTER
        namespaces payments
        fallthrough
    }
    whoami
}
bank.example:53 {
    hosts {
        192.0.2.30 bank.example
    }
}
";

#[test]
fn every_answer_and_denial_names_its_object() {
    let cluster = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shop/cluster");
    let folder = tempfile::tempdir().unwrap();
    let corefile = COREFILE.replace("CLUSTER", &cluster.display().to_string());
    std::fs::write(folder.path().join("Corefile"), corefile).unwrap();
    for (case, name, rtype) in [
        ("cluster-ip", "web.shop.svc.cluster.local", "A"),
        ("cluster-ip-of-no-such-family", "gateway.payments.svc.cluster.local", "AAAA"),
        ("named-port", "_http._tcp.web.shop.svc.cluster.local", "SRV"),
        ("no-such-port", "_smtp._tcp.web.shop.svc.cluster.local", "SRV"),
        ("headless", "cart.shop.svc.cluster.local", "A"),
        ("endpoint", "cart-1.cart.shop.svc.cluster.local", "A"),
        ("endpoint-not-ready", "cart-2.cart.shop.svc.cluster.local", "A"),
        ("zone", "north.pin._zone.cart.shop.svc.cluster.local", "A"),
        ("external-name-inside", "checkout.shop.svc.cluster.local", "A"),
        ("external-name-outside", "bank.shop.svc.cluster.local", "A"),
        ("no-such-service", "wep.shop.svc.cluster.local", "A"),
        ("no-such-namespace", "web.shopp.svc.cluster.local", "A"),
        ("namespace-alone", "shop.svc.cluster.local", "A"),
        ("namespace-not-shown", "web.shop.svc.payments.local", "A"),
        ("no-such-pod", "10-244-1-10.shop.pod.cluster.local", "A"),
        ("address-of-a-service", "10.0.96.10.in-addr.arpa", "PTR"),
        ("address-of-an-endpoint", "20.1.244.10.in-addr.arpa", "PTR"),
        ("address-of-nobody", "9.9.9.10.in-addr.arpa", "PTR"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_rhumb"))
            .args(["explain", name, rtype, "--conf", "Corefile"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{name}: {text}");
        insta::assert_snapshot!(case, without_serial(&text));
    }
}

/// A zone's serial is the time of the last change.
fn without_serial(text: &str) -> String {
    let line = |line: &str| {
        let mut words: Vec<&str> = line.split(' ').collect();
        if let Some(soa) = words.iter().position(|word| *word == "SOA")
            && words.len() == soa + 8
        {
            words[soa + 3] = "SERIAL";
        }
        words.join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
