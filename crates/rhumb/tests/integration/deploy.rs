//! The manifests in deploy/kubernetes: a real API server accepts every field, and their pods keep the contract of
//! kubeadm's CoreDNS pods.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::cluster::objects::{list, name_of, text};
use testkit::cluster::{Cluster, Method, deploy};
use testkit::peers::Peer;

#[test]
fn kubernetes_accepts_the_manifests_and_they_keep_the_contract() {
    if [Peer::Etcd, Peer::KubeApiserver].iter().any(|peer| peer.for_test().is_none()) {
        return;
    }
    let cluster = Cluster::alone().unwrap_or_else(|error| panic!("{error}"));
    let stored = apply_all(&cluster);
    check_contract(&stored);
    check_selectors(&stored);
    check_read_only(&stored);
    check_corefile(text(&stored["ConfigMap coredns"], "/data/Corefile"));
    check_pod_security(&cluster, &stored["Deployment rhumb"]);
}

/// All objects of all files as stored by the API server, by kind and name.
fn apply_all(cluster: &Cluster) -> BTreeMap<String, Value> {
    let mut files: Vec<_> =
        std::fs::read_dir(deploy::folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.retain(|file| file.to_str().is_some_and(|name| name.ends_with(".yaml")));
    files.sort();
    assert_eq!(files, ["corefile.yaml", "rbac-multicluster.yaml", "rbac.yaml", "rhumb.yaml"]);
    let stored = files.iter().flat_map(|file| {
        deploy::apply(cluster, file.to_str().unwrap()).unwrap_or_else(|error| panic!("{error}"))
    });
    stored.map(|object| (format!("{} {}", text(&object, "/kind"), name_of(&object)), object)).collect()
}

/// Checks what kubelets, kubeadm, dashboards and operators of CoreDNS rely on.
fn check_contract(stored: &BTreeMap<String, Value>) {
    const POD: &str = "/spec/template/spec";
    const CONTAINER: &str = "/spec/template/spec/containers/0";
    let image = concat!("localhost/rhumb:", env!("CARGO_PKG_VERSION"));
    let port = |name: &str, port: u16, protocol: &str| -> Value {
        json!({"name": name, "containerPort": port, "protocol": protocol})
    };
    let service_port = |name: &str, port: u16, protocol: &str| -> Value {
        json!({"name": name, "port": port, "protocol": protocol, "targetPort": name})
    };
    for (object, part, field, expected) in [
        ("Deployment rhumb", "/spec/template/metadata/labels", "/k8s-app", json!("kube-dns")),
        ("Deployment rhumb", "/spec", "/replicas", json!(2)),
        ("Deployment rhumb", "/spec/strategy/rollingUpdate", "/maxUnavailable", json!(1)),
        ("Deployment rhumb", POD, "/serviceAccountName", json!("rhumb")),
        ("Deployment rhumb", POD, "/dnsPolicy", json!("Default")),
        ("Deployment rhumb", POD, "/priorityClassName", json!("system-cluster-critical")),
        ("Deployment rhumb", POD, "/securityContext", json!({"seccompProfile": {"type": "RuntimeDefault"}})),
        ("Deployment rhumb", CONTAINER, "/image", json!(image)),
        ("Deployment rhumb", CONTAINER, "/command", Value::Null),
        ("Deployment rhumb", CONTAINER, "/args", json!(["-conf", "/etc/coredns/Corefile"])),
        (
            "Deployment rhumb",
            CONTAINER,
            "/ports",
            json!([
                port("dns", 53, "UDP"),
                port("dns-tcp", 53, "TCP"),
                port("metrics", 9153, "TCP"),
                port("liveness-probe", 8080, "TCP"),
                port("readiness-probe", 8181, "TCP"),
            ]),
        ),
        ("Deployment rhumb", CONTAINER, "/livenessProbe/httpGet/path", json!("/health")),
        ("Deployment rhumb", CONTAINER, "/livenessProbe/httpGet/port", json!("liveness-probe")),
        ("Deployment rhumb", CONTAINER, "/readinessProbe/httpGet/path", json!("/ready")),
        ("Deployment rhumb", CONTAINER, "/readinessProbe/httpGet/port", json!("readiness-probe")),
        (
            "Deployment rhumb",
            CONTAINER,
            "/resources",
            json!({"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}}),
        ),
        (
            "Deployment rhumb",
            CONTAINER,
            "/securityContext",
            json!({
                "allowPrivilegeEscalation": false,
                "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
                "runAsGroup": 65532,
                "runAsNonRoot": true,
                "runAsUser": 65532,
            }),
        ),
        (
            "Deployment rhumb",
            CONTAINER,
            "/volumeMounts",
            json!([{"name": "config", "mountPath": "/etc/coredns", "readOnly": true}]),
        ),
        ("Deployment rhumb", POD, "/volumes/0/configMap/name", json!("coredns")),
        (
            "Deployment rhumb",
            POD,
            "/volumes/0/configMap/items",
            json!([{"key": "Corefile", "path": "Corefile"}]),
        ),
        (
            "Deployment rhumb",
            POD,
            "/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/podAffinityTerm/topologyKey",
            json!("kubernetes.io/hostname"),
        ),
        (
            "Deployment rhumb",
            POD,
            "/topologySpreadConstraints/0/topologyKey",
            json!("topology.kubernetes.io/zone"),
        ),
        ("PodDisruptionBudget rhumb", "/spec", "/maxUnavailable", json!(1)),
        ("Service kube-dns", "/metadata/labels", "/k8s-app", json!("kube-dns")),
        ("Service kube-dns", "/metadata", "/namespace", json!("kube-system")),
        ("Service kube-dns", "/spec", "/clusterIP", json!("10.96.0.10")),
        ("Service kube-dns", "/spec", "/selector", json!({"k8s-app": "kube-dns"})),
        (
            "Service kube-dns",
            "/spec",
            "/ports",
            json!([
                service_port("dns", 53, "UDP"),
                service_port("dns-tcp", 53, "TCP"),
                service_port("metrics", 9153, "TCP"),
            ]),
        ),
    ] {
        let found = stored[object].pointer(&format!("{part}{field}")).unwrap_or(&Value::Null);
        assert_eq!(*found, expected, "{object}: {part}{field}");
    }
    let grace = &stored["Deployment rhumb"].pointer("/spec/template/spec/terminationGracePeriodSeconds");
    assert!(grace.and_then(Value::as_u64) >= Some(15), "lameduck, draining, and some air: {grace:?}");
}

/// Every selector of pods matches ours.
fn check_selectors(stored: &BTreeMap<String, Value>) {
    let deployment = &stored["Deployment rhumb"];
    let labels = deployment.pointer("/spec/template/metadata/labels").unwrap();
    for (object, selector) in [
        ("Deployment rhumb", "/spec/selector/matchLabels"),
        ("Deployment rhumb", "/spec/template/spec/topologySpreadConstraints/0/labelSelector/matchLabels"),
        ("PodDisruptionBudget rhumb", "/spec/selector/matchLabels"),
        ("Service kube-dns", "/spec/selector"),
    ] {
        let selector = stored[object].pointer(selector).and_then(Value::as_object).unwrap();
        assert!(!selector.is_empty(), "{object}");
        for (label, value) in selector {
            assert_eq!(labels.get(label), Some(value), "{object}: {label}");
        }
    }
}

/// No rule permits more than list and watch. Reading an API's versions gives no access to its objects.
fn check_read_only(stored: &BTreeMap<String, Value>) {
    let roles = stored.iter().filter(|(name, _)| name.starts_with("ClusterRole "));
    let rules: Vec<Value> = roles.flat_map(|(_, role)| list(role, "/rules").to_vec()).collect();
    assert_eq!(rules.len(), 4, "{rules:?}");
    for rule in rules {
        let allowed =
            if rule.get("nonResourceURLs").is_some() { json!(["get"]) } else { json!(["list", "watch"]) };
        assert_eq!(rule["verbs"], allowed, "{rule}");
    }
}

fn check_corefile(corefile: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("Corefile");
    std::fs::write(&path, corefile).unwrap();
    let rhumb = testkit::rhumb::binary().unwrap_or_else(|error| panic!("{error}"));
    let output = std::process::Command::new(rhumb).arg("check").arg(&path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// The restricted Pod Security Standard admits our pods; another pod is rejected, which shows that it is enforced.
fn check_pod_security(cluster: &Cluster, deployment: &Value) {
    let policy = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    cluster.api().patch("/api/v1/namespaces/kube-system", &policy).unwrap_or_else(|error| panic!("{error}"));
    let mut pod = deployment.pointer("/spec/template").unwrap().clone();
    pod["metadata"]["name"] = json!("judged");
    let create = |pod: &Value| {
        let path = "/api/v1/namespaces/kube-system/pods?dryRun=All&fieldValidation=Strict";
        cluster.api().send(Method::POST, path, Some(("application/json", pod))).unwrap()
    };
    let response = create(&pod);
    assert_eq!(response.status, 201, "{}", response.text());
    for (field, worse) in
        [("allowPrivilegeEscalation", json!(true)), ("capabilities", json!({"add": ["NET_ADMIN"]}))]
    {
        let mut pod = pod.clone();
        pod["spec"]["containers"][0]["securityContext"][field] = worse;
        let response = create(&pod);
        assert_eq!(response.status, 403, "{field}: {}", response.text());
        assert!(response.text().contains("PodSecurity"), "{field}: {}", response.text());
    }
}
