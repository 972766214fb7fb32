//! Options that were taken away without a successor, or never did anything lately.

use super::script::{Script, Site};

const OWN_LOOKUPS: &str = "since CoreDNS 1.4 such look-ups always go through the server itself";
const NO_RESYNC: &str = "CoreDNS 1.6 removed it: watches are never listed anew by the clock";
const STUBS: &str = "CoreDNS 1.4 removed it: a server block with 'forward' does the same";

/// Plugin, option, and why it can go.
const REMOVED: &[(&str, &str, &str)] = &[
    ("kubernetes", "upstream", OWN_LOOKUPS),
    ("kubernetes", "resyncperiod", NO_RESYNC),
    ("file", "upstream", OWN_LOOKUPS),
    ("auto", "upstream", OWN_LOOKUPS),
    ("secondary", "upstream", OWN_LOOKUPS),
    ("template", "upstream", OWN_LOOKUPS),
    ("federation", "upstream", OWN_LOOKUPS),
    ("route53", "upstream", OWN_LOOKUPS),
    ("clouddns", "upstream", OWN_LOOKUPS),
    ("etcd", "upstream", OWN_LOOKUPS),
    ("etcd", "stubzones", STUBS),
    ("etcd", "debug", "CoreDNS ignores it: queries can be explained without"),
    ("proxy", "fail_timeout", "forward checks an upstream that fails until it answers again"),
    ("proxy", "spray", "forward asks one at random anyway when all upstreams are down"),
    ("proxy", "report_health", "forward has no part in the health of the process"),
];

pub(super) fn migrate(script: &mut Script<'_>, site: &Site<'_>) {
    for (plugin, option, why) in REMOVED {
        if *plugin == site.name() {
            for property in site.lines.properties_called(option) {
                script.remove(property, why);
            }
        }
    }
}
