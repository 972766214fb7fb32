//! The Corefile that kubeadm writes, and the same with one plugin more.

/// kubeadm's, except for addresses and the lameduck period, which would delay the end of each round.
pub const COREFILE: &str = ".:{port} {
    bind 127.0.0.1
    errors
    health 127.0.0.1:{free}
    ready 127.0.0.1:{free}
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig kubeconfig
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    prometheus 127.0.0.1:{metrics}
    forward . 127.0.0.1:{upstream} {
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
";

/// The files that the Corefile names: the kubeconfig.
pub fn files(kubeconfig: &str) -> Vec<(&'static str, String)> {
    vec![("kubeconfig", kubeconfig.to_owned())]
}

/// With *autopath*, and `pods verified`, which it needs.
pub fn with_autopath() -> String {
    with("autopath @kubernetes").replace("pods insecure", "pods verified")
}

/// With the query log, and the metric of dropped log lines.
pub fn with_log() -> String {
    with("log").replace("{metrics}\n", "{metrics} {\n        runtime_metrics\n    }\n")
}

/// With one more plugin. Its position in a Corefile does not matter.
fn with(plugin: &str) -> String {
    COREFILE.replacen("    errors\n", &format!("    errors\n    {plugin}\n"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_differ_only_as_named() {
        let added = |other: &str| {
            let mine: Vec<&str> = COREFILE.lines().collect();
            other.lines().filter(|line| !mine.contains(line)).map(str::trim).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(added(&with_log()), "log, prometheus 127.0.0.1:{metrics} {, runtime_metrics");
        assert_eq!(added(&with_autopath()), "autopath @kubernetes, pods verified");
        assert_eq!(with_log().lines().count(), COREFILE.lines().count() + 3);
        assert_eq!(with_autopath().lines().count(), COREFILE.lines().count() + 1);
    }
}
