//! The one list of plugins. It sets the order of every chain, whatever the order in the Corefile.

use server::{Availability, PluginSpec, SetupFn};

// Every plugin's folder.
use crate::*;

/// All directives, outermost first.
pub static PLUGINS: &[PluginSpec] = &[
    plugin("root", "sets the folder that relative paths start from", available(root::setup)),
    plugin("metadata", "collects metadata about a query for other plugins", available(metadata::setup)),
    plugin("geoip", "looks the client up in a MaxMind database", available(geoip::setup)),
    plugin("cancel", "gives every query a deadline", available(cancel::setup)),
    plugin("proxyproto", "reads PROXY protocol headers", available(proxyproto::setup)),
    plugin("quic", "limits DNS over QUIC", TO_COME),
    plugin("grpc_server", "limits DNS over gRPC", TO_COME),
    plugin("https", "limits DNS over HTTPS", TO_COME),
    plugin("https3", "limits DNS over HTTP/3", TO_COME),
    plugin("timeouts", "sets the time-outs of TCP connections", available(timeouts::setup)),
    plugin("multisocket", "opens several sockets per address", available(multisocket::setup)),
    plugin("reload", "applies changes of the Corefile", available(reload::setup)),
    plugin("nsid", "adds the server's name to replies (NSID)", available(nsid::setup)),
    plugin("bufsize", "caps the UDP size clients advertise", available(bufsize::setup)),
    plugin("bind", "listens on some addresses instead of all", available(bind::setup)),
    plugin("debug", "lets panics end the process and logs more", available(debug::setup)),
    plugin("trace", "sends a trace of each query", available(trace::setup)),
    plugin("ready", "reports readiness over HTTP", available(ready::setup)),
    plugin("health", "reports over HTTP that the process is alive", available(health::setup)),
    plugin("pprof", "serves profiles over HTTP", available(pprof::setup)),
    plugin("shed", "drops queries when replies pile up", available(shed::setup)),
    plugin("prometheus", "serves metrics over HTTP", available(prometheus::setup)),
    plugin("errors", "logs errors", available(errors::setup)),
    plugin("log", "logs queries", available(log::setup)),
    plugin("dnstap", "sends queries and replies to dnstap readers", available(dnstap::setup)),
    plugin("local", "answers localhost and its reverse names", available(local::setup)),
    plugin("dns64", "makes AAAA records out of A records", available(dns64::setup)),
    plugin("siit", "makes A records out of AAAA records", available(siit::setup)),
    plugin("any", "answers ANY with a minimal reply (RFC 8482)", available(any::setup)),
    plugin("chaos", "answers version, authors and host name in class CH", available(chaos::setup)),
    plugin("loadbalance", "shuffles addresses", available(loadbalance::setup)),
    plugin("tsig", "verifies and adds transaction signatures", TO_COME),
    plugin("rewrite", "changes queries and replies", available(rewrite::setup)),
    plugin("autopath", "searches the client's search path on the server", available(autopath::setup)),
    plugin("acl", "allows or blocks clients", available(acl::setup)),
    plugin("cache", "caches replies", available(cache::setup)),
    plugin("header", "sets and clears header flags", available(header::setup)),
    plugin("dnssec", "signs replies on the fly", TO_COME),
    plugin("tls", "sets the certificates of encrypted listeners", TO_COME),
    plugin("minimal", "removes optional records from replies", available(minimal::setup)),
    plugin("template", "answers with records made from the query", available(template::setup)),
    plugin("transfer", "serves zone transfers", TO_COME),
    plugin("dynupdate", "accepts dynamic updates", TO_COME),
    plugin("hosts", "answers from a hosts file", available(hosts::setup)),
    plugin(
        "route53",
        "serves zones of AWS Route 53",
        unsupported("run a secondary for the zone with `secondary`, or publish its records through etcd"),
    ),
    plugin(
        "azure",
        "serves zones of Azure DNS",
        unsupported("run a secondary for the zone with `secondary`, or publish its records through etcd"),
    ),
    plugin(
        "clouddns",
        "serves zones of Google Cloud DNS",
        unsupported("run a secondary for the zone with `secondary`, or publish its records through etcd"),
    ),
    plugin("k8s_external", "answers for the external addresses of services", available(k8s_external::setup)),
    plugin("federation", "answers for services of federated clusters", available(federation::setup)),
    plugin("kubernetes", "answers for the services and pods of a cluster", available(kubernetes::setup)),
    plugin("file", "serves a zone from a file", TO_COME),
    plugin("auto", "serves zones from a folder of files", TO_COME),
    plugin("secondary", "serves zones transferred from other servers", TO_COME),
    plugin("etcd", "answers from etcd in SkyDNS form", TO_COME),
    plugin("loop", "detects forwarding loops", available(r#loop::setup)),
    plugin("forward", "forwards queries to other servers", available(forward::setup)),
    plugin("proxy", "is the old name of forward", available(forward::setup_proxy)),
    plugin("grpc", "forwards queries over gRPC", TO_COME),
    plugin("erratic", "answers wrongly on purpose, for tests", available(erratic::setup)),
    plugin("whoami", "answers with the client's own address", available(whoami::setup)),
    plugin("on", "runs a command on an event", available(on::setup)),
    plugin("sign", "signs zone files", TO_COME),
    plugin("view", "limits a server block to queries that match an expression", available(view::setup)),
    plugin(
        "nomad",
        "answers for services of Nomad",
        unsupported("forward the zone to the Nomad or Consul DNS with `forward`"),
    ),
];

const TO_COME: Availability = Availability::Planned;

const fn available(setup: SetupFn) -> Availability {
    Availability::Available(setup)
}

const fn unsupported(instead: &'static str) -> Availability {
    Availability::Unsupported(instead)
}

const fn plugin(name: &'static str, about: &'static str, availability: Availability) -> PluginSpec {
    PluginSpec { name, about, availability }
}
