//! Options that were removed without a replacement, or that have no effect.

use super::script::{Script, Site};

const OWN_LOOKUPS: &str = "since CoreDNS 1.4 such lookups always go through the server itself";
const NO_RESYNC: &str = "CoreDNS 1.6 removed it: watches need no resync period";
const STUBS: &str = "CoreDNS 1.4 removed it: a server block with 'forward' does the same";

/// Plugin, option, and the reason of its removal.
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
    ("etcd", "debug", "CoreDNS ignores it: `rhumb explain` explains queries"),
    ("proxy", "fail_timeout", "forward checks a failed upstream until it answers again"),
    ("proxy", "spray", "forward queries a random upstream anyway when all are down"),
    ("proxy", "report_health", "forward does not affect the health of the process"),
];

pub(super) fn migrate(script: &mut Script<'_>, site: &Site<'_>) {
    for (plugin, option, why) in REMOVED {
        if *plugin == site.name() {
            for property in site.lines.properties_named(option) {
                script.remove(property, why);
            }
        }
    }
}
