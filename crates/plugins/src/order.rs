//! The one list of plugins. Its order is the order of every chain, whatever the order in the Corefile.

use server::{Availability, PluginSpec, SetupFn};

use crate::{
    acl, any, autopath, bind, bufsize, cache, cancel, chaos, debug, dns64, dnstap, erratic, errors,
    federation, forward, geoip, header, health, hosts, k8s_external, kubernetes, loadbalance, local, log,
    r#loop, metadata, minimal, multisocket, nsid, on, pprof, prometheus, proxyproto, ready, reload, rewrite,
    root, shed, siit, template, timeouts, trace, view, whoami,
};

/// All directives, outermost first.
pub static PLUGINS: &[PluginSpec] = &[
    plugin("root", "sets the folder that relative paths start from", here(root::setup)),
    plugin("metadata", "collects what plugins know about a query for others to use", here(metadata::setup)),
    plugin("geoip", "looks the client up in a MaxMind database", here(geoip::setup)),
    plugin("cancel", "gives every query a deadline", here(cancel::setup)),
    plugin("proxyproto", "reads PROXY protocol headers", here(proxyproto::setup)),
    plugin("quic", "limits DNS over QUIC", TO_COME),
    plugin("grpc_server", "limits DNS over gRPC", TO_COME),
    plugin("https", "limits DNS over HTTPS", TO_COME),
    plugin("https3", "limits DNS over HTTP/3", TO_COME),
    plugin("timeouts", "sets the time-outs of TCP connections", here(timeouts::setup)),
    plugin("multisocket", "opens several sockets per address", here(multisocket::setup)),
    plugin("reload", "looks for changes of the Corefile and takes them over", here(reload::setup)),
    plugin("nsid", "tells clients the name of the server that answered", here(nsid::setup)),
    plugin("bufsize", "caps the UDP size clients advertise", here(bufsize::setup)),
    plugin("bind", "listens on some addresses instead of all", here(bind::setup)),
    plugin("debug", "lets panics end the process and logs more", here(debug::setup)),
    plugin("trace", "sends a trace of each query", here(trace::setup)),
    plugin("ready", "tells over HTTP whether all plugins can serve", here(ready::setup)),
    plugin("health", "tells over HTTP that the process lives", here(health::setup)),
    plugin("pprof", "serves profiles over HTTP", here(pprof::setup)),
    plugin("shed", "drops queries when replies pile up", here(shed::setup)),
    plugin("prometheus", "serves metrics over HTTP", here(prometheus::setup)),
    plugin("errors", "logs what went wrong", here(errors::setup)),
    plugin("log", "logs queries", here(log::setup)),
    plugin("dnstap", "records queries and replies", here(dnstap::setup)),
    plugin("local", "answers localhost and its reverse names", here(local::setup)),
    plugin("dns64", "makes AAAA records out of A records", here(dns64::setup)),
    plugin("siit", "makes A records out of AAAA records", here(siit::setup)),
    plugin("any", "answers ANY with next to nothing", here(any::setup)),
    plugin("chaos", "tells version, authors and host name in class CH", here(chaos::setup)),
    plugin("loadbalance", "shuffles addresses", here(loadbalance::setup)),
    plugin("tsig", "checks and makes transaction signatures", TO_COME),
    plugin("rewrite", "changes queries and replies", here(rewrite::setup)),
    plugin("autopath", "follows the search path of a pod on the server", here(autopath::setup)),
    plugin("acl", "lets some clients in", here(acl::setup)),
    plugin("cache", "remembers replies", here(cache::setup)),
    plugin("header", "sets and clears header flags", here(header::setup)),
    plugin("dnssec", "signs replies as they leave", TO_COME),
    plugin("tls", "sets the certificates of encrypted listeners", TO_COME),
    plugin("minimal", "leaves out what a reply does not need", here(minimal::setup)),
    plugin("template", "makes records from templates", here(template::setup)),
    plugin("transfer", "hands out whole zones", TO_COME),
    plugin("dynupdate", "takes dynamic updates", TO_COME),
    plugin("hosts", "answers from a hosts file", here(hosts::setup)),
    plugin(
        "route53",
        "serves zones of AWS Route 53",
        never("run a secondary for the zone with `secondary`, or publish its records through etcd"),
    ),
    plugin(
        "azure",
        "serves zones of Azure DNS",
        never("run a secondary for the zone with `secondary`, or publish its records through etcd"),
    ),
    plugin(
        "clouddns",
        "serves zones of Google Cloud DNS",
        never("run a secondary for the zone with `secondary`, or publish its records through etcd"),
    ),
    plugin("k8s_external", "answers for external addresses of services", here(k8s_external::setup)),
    plugin("federation", "answers for services of federated clusters", here(federation::setup)),
    plugin("kubernetes", "answers for the services and pods of a cluster", here(kubernetes::setup)),
    plugin("file", "serves a zone from a file", TO_COME),
    plugin("auto", "serves zones from a folder of files", TO_COME),
    plugin("secondary", "serves zones transferred from elsewhere", TO_COME),
    plugin("etcd", "answers from etcd in SkyDNS form", TO_COME),
    plugin("loop", "finds forwarding loops", here(r#loop::setup)),
    plugin("forward", "asks other servers", here(forward::setup)),
    plugin("proxy", "is the old name of forward", here(forward::setup_proxy)),
    plugin("grpc", "asks other servers over gRPC", TO_COME),
    plugin("erratic", "answers badly on purpose, for tests", here(erratic::setup)),
    plugin("whoami", "tells clients their own address", here(whoami::setup)),
    plugin("on", "runs a command on an event", here(on::setup)),
    plugin("sign", "signs zone files", TO_COME),
    plugin("view", "takes only queries that match an expression", here(view::setup)),
    plugin(
        "nomad",
        "answers for services of Nomad",
        never("forward the zone to the Nomad or Consul DNS with `forward`"),
    ),
];

const TO_COME: Availability = Availability::ToCome;

const fn here(setup: SetupFn) -> Availability {
    Availability::Here(setup)
}

const fn never(instead: &'static str) -> Availability {
    Availability::Never(instead)
}

const fn plugin(name: &'static str, about: &'static str, availability: Availability) -> PluginSpec {
    PluginSpec { name, about, availability }
}
