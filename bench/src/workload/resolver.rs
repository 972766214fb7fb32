//! A resolver as in clusters: a cache in front of a forwarder.

/// The plugins of kubeadm's Corefile that answer names outside the cluster, with its options.
pub const COREFILE: &str = ".:{port} {
    bind 127.0.0.1
    errors
    prometheus 127.0.0.1:{free}
    forward . 127.0.0.1:{upstream} {
        max_concurrent 1000
    }
    cache 30
    loadbalance
}
";

/// The same task: forwards and caches everything, validates nothing. Default cache sizes.
pub const UNBOUND: &str = "server:
    module-config: \"iterator\"
    do-not-query-localhost: no
forward-zone:
    name: \".\"
    forward-addr: 127.0.0.1@{upstream}
";

/// Half of the names are queried for A, half for AAAA.
pub fn question(n: u64, zone: &str) -> String {
    format!("svc-{n}.{zone} {}\n", if n.is_multiple_of(2) { "A" } else { "AAAA" })
}
