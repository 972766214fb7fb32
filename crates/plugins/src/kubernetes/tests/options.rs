//! Valid and invalid options, with CoreDNS's error texts.

use corefile::Severity;

use crate::testing::harness::{configure, refused};

/// `|` stands for a new line.
fn corefile(body: &str) -> String {
    format!(".:53 {{\n{}\n}}\n", body.replace('|', "\n"))
}

fn kubernetes(options: &str) -> String {
    corefile(&format!("kubernetes cluster.local {{|{options}|}}"))
}

/// Corefiles are checked without a cluster.
#[test]
fn accepted() {
    for body in [
        "kubernetes cluster.local",
        "kubernetes cluster.local in-addr.arpa ip6.arpa",
        "kubernetes 10.0.0.0/17 cluster.local",
        "kubernetes",
        "kubernetes cluster.local {|}",
        "kubernetes cluster.local {|endpoint http://localhost:9090|}",
        "kubernetes cluster.local {|endpoint https://h:6443|tls cert key ca|}",
        "kubernetes cluster.local {|kubeconfig file|}",
        "kubernetes cluster.local {|kubeconfig file context|}",
        "kubernetes cluster.local {|manifests folder|}",
        "kubernetes cluster.local {|apiserver_qps 3.5|apiserver_burst 0|apiserver_max_inflight 7|}",
        "kubernetes cluster.local {|namespaces a b|namespaces c|}",
        "kubernetes cluster.local {|namespace_labels istio-injection=enabled|}",
        "kubernetes cluster.local {|labels environment in (production, staging, qa),application=nginx|}",
        "kubernetes cluster.local {|pods disabled|pods insecure|pods verified|}",
        "kubernetes cluster.local {|endpoint_pod_names|noendpoints|}",
        "kubernetes cluster.local {|ttl 0|ttl 3600|ttl 30 x|ttl +5|}",
        "kubernetes cluster.local {|fallthrough|fallthrough in-addr.arpa ip6.arpa|}",
        "kubernetes cluster.local {|ignore empty_service|ignore|}",
        "kubernetes cluster.local clusterset.local {|multicluster ClusterSet.local|}",
        "kubernetes cluster.local {|multicluster|}",
        "kubernetes cluster.local {|zonal|startup_timeout 1m|startup_timeout 0s|}",
        "kubernetes cluster.local {|wildcards|ptr verified|stale_ready 5m|}",
    ] {
        let config = configure(&corefile(body)).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert!(config.warnings.is_empty(), "{body}: {:?}", config.warnings);
    }
}

/// Options that CoreDNS has removed, or that have no effect, are accepted with a warning.
#[test]
fn warnings() {
    for (options, warning, help) in [
        (
            "endpoint http://a http://b",
            "Multiple endpoints have been deprecated, only the first specified endpoint 'http://a' is used",
            None,
        ),
        (
            "upstream",
            "upstream has no effect: ExternalName targets are looked up through this server",
            Some("remove the line; `forward` sets the upstream servers"),
        ),
        (
            "upstream 8.8.8.8 /etc/resolv.conf",
            "upstream has no effect: ExternalName targets are looked up through this server",
            Some("remove the line; `forward` sets the upstream servers"),
        ),
        (
            "resyncperiod 5m",
            "resyncperiod has no effect: watches deliver all changes",
            Some("remove the line"),
        ),
        (
            "transfer to *",
            "transfer has no effect here: the transfer plugin serves zone transfers",
            Some("write `transfer ZONES { to ADDRESS }` in the server block"),
        ),
        ("tls a b c", "tls has no effect: it applies to endpoint only", None),
    ] {
        let config = configure(&kubernetes(options)).unwrap_or_else(|error| panic!("{options}: {error}"));
        let [given] = &config.warnings[..] else { panic!("{options}: {:?}", config.warnings) };
        assert_eq!(given.to_string(), format!("plugin/kubernetes: {warning}"), "{options}");
        assert_eq!((given.help_text(), given.severity()), (help, Severity::Warning), "{options}");
    }
}

#[test]
fn refused_in_a_block() {
    let count = "Error during parsing: Wrong argument count or unexpected line ending after";
    for (options, error) in [
        ("unknown", "Corefile:3 - Error during parsing: unknown property 'unknown'".to_owned()),
        ("endpoint", format!("Corefile:3 - {count} 'endpoint'")),
        ("tls", format!("Corefile:3 - {count} 'tls'")),
        ("tls a b", format!("Corefile:3 - {count} 'b'")),
        ("kubeconfig", format!("Corefile:3 - {count} 'kubeconfig'")),
        ("kubeconfig a b c", format!("Corefile:3 - {count} 'c'")),
        ("manifests", format!("Corefile:3 - {count} 'manifests'")),
        ("namespaces", format!("Corefile:3 - {count} 'namespaces'")),
        ("namespace_labels", format!("Corefile:3 - {count} 'namespace_labels'")),
        ("labels", format!("Corefile:3 - {count} 'labels'")),
        ("pods", format!("Corefile:3 - {count} 'pods'")),
        ("pods a b", format!("Corefile:3 - {count} 'b'")),
        ("pods giant", "wrong value for pods: giant,  must be one of: disabled, verified, insecure".into()),
        ("endpoint_pod_names x", format!("Corefile:3 - {count} 'x'")),
        ("noendpoints x", format!("Corefile:3 - {count} 'x'")),
        ("zonal x", format!("Corefile:3 - {count} 'x'")),
        ("wildcards x", format!("Corefile:3 - {count} 'x'")),
        ("ttl", format!("Corefile:3 - {count} 'ttl'")),
        ("ttl x", "strconv.Atoi: parsing \"x\": invalid syntax".into()),
        ("ttl 99999999999999999999", "strconv.Atoi: parsing \"99999999999999999999\": value out of range".into()),
        ("ttl -1", "Corefile:3 - Error during parsing: ttl must be in range [0, 3600]: -1".into()),
        ("ttl 3601", "Corefile:3 - Error during parsing: ttl must be in range [0, 3600]: 3601".into()),
        ("ignore x", "unable to parse ignore value: 'x'".into()),
        ("startup_timeout", format!("Corefile:3 - {count} 'startup_timeout'")),
        (
            "startup_timeout x",
            "failed to parse startup_timeout: x, time: invalid duration \"x\"".into(),
        ),
        ("startup_timeout -1s", "Corefile:3 - Error during parsing: startup_timeout must be >= 0: -1s".into()),
        ("apiserver_qps", format!("Corefile:3 - {count} 'apiserver_qps'")),
        (
            "apiserver_qps x",
            "Corefile:3 - Error during parsing: invalid apiserver_qps \"x\": strconv.ParseFloat: parsing \"x\": \
             invalid syntax"
                .into(),
        ),
        ("apiserver_qps -1", "Corefile:3 - Error during parsing: apiserver_qps must be >= 0".into()),
        (
            "apiserver_burst 1.5",
            "Corefile:3 - Error during parsing: invalid apiserver_burst \"1.5\": strconv.Atoi: parsing \"1.5\": \
             invalid syntax"
                .into(),
        ),
        ("apiserver_burst -1", "Corefile:3 - Error during parsing: apiserver_burst must be >= 0".into()),
        (
            "apiserver_max_inflight -1",
            "Corefile:3 - Error during parsing: apiserver_max_inflight must be >= 0".into(),
        ),
        ("ptr", format!("Corefile:3 - {count} 'ptr'")),
        ("ptr all", "Corefile:3 - Error during parsing: ptr: expected verified, got 'all'".into()),
        ("stale_ready", format!("Corefile:3 - {count} 'stale_ready'")),
        ("stale_ready 0s", "Corefile:3 - Error during parsing: stale_ready: expected a duration above zero, got '0s'".into()),
        (
            "namespaces a|namespace_labels b=c",
            "Corefile:5 - Error during parsing: namespaces and namespace_labels cannot both be set".into(),
        ),
        (
            "multicluster clusterset.local",
            "Corefile:4 - Error during parsing: is not authoritative for the multicluster zone clusterset.local. \
             (authoritative zones: [cluster.local.])"
                .into(),
        ),
        (
            "zonal|noendpoints",
            "Corefile:5 - Error during parsing: zonal requires the endpoint cache; remove noendpoints".into(),
        ),
        (
            "manifests a|kubeconfig b",
            "Corefile:5 - Error during parsing: manifests cannot be set together with endpoint or kubeconfig".into(),
        ),
    ] {
        assert_eq!(refused(&kubernetes(options)), format!("plugin/kubernetes: {error}"), "{options}");
    }
}

/// The text after the last colon is tested in `cluster`.
#[test]
fn selectors_refused() {
    for (options, start) in [
        ("labels a in (b", "unable to parse label selector value: 'a in (b': "),
        ("namespace_labels =", "unable to parse namespace_label selector value: '=': "),
    ] {
        let error = refused(&kubernetes(options));
        assert!(error.starts_with(&format!("plugin/kubernetes: {start}")), "{error}");
    }
}

#[test]
fn refused_lines() {
    for (body, error) in [
        ("kubernetes in-addr.arpa", "non-reverse zone name must be used"),
        ("kubernetes 10.0.0.0/8 {|unknown|}", "non-reverse zone name must be used"),
        ("kubernetes a.org|kubernetes b.org", "this plugin can only be used once per Server Block"),
    ] {
        assert_eq!(refused(&corefile(body)), format!("plugin/kubernetes: {error}"), "{body}");
    }
}

/// A misspelt option has a suggestion.
#[test]
fn suggestions() {
    for (options, help) in [("namespace a", "namespaces"), ("pod insecure", "pods")] {
        let input = server::Input {
            name: "Corefile".into(),
            contents: kubernetes(options).into(),
            dns_port: "53".into(),
        };
        let errors = server::config::build(&input, crate::PLUGINS, &corefile::Disk).err().unwrap();
        assert!(errors[0].help_text().is_some_and(|text| text.contains(help)), "{:?}", errors[0].help_text());
    }
}
