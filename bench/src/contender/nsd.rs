//! NSD, the real one: a Debian package.

use testkit::error::Result;

use super::instance::Instance;
use crate::workload::Workload;

/// One serving process, beside its supervisor. Response rate limiting is off, and it sends minimal responses, as the
/// others do.
const SERVER: &str = "server:
    ip-address: 127.0.0.1
    port: {port}
    server-count: 1
    username: \"\"
    chroot: \"\"
    zonesdir: \".\"
    database: \"\"
    pidfile: \"nsd.pid\"
    zonelistfile: \"zone.list\"
    xfrdfile: \"xfrd.state\"
    xfrdir: \".\"
    verbosity: 0
    minimal-responses: yes
    rrl-ratelimit: 0
    rrl-whitelist-ratelimit: 0
remote-control:
    control-enable: no
";

pub fn prepare(workload: &Workload, instance: &Instance) -> Result<Vec<String>> {
    let mut configuration = SERVER.to_owned();
    for zone in &workload.zones {
        let (name, file) = (zone.name, instance.write_zone(zone)?);
        configuration.push_str(&format!("zone:\n    name: \"{name}\"\n    zonefile: \"{file}\"\n"));
    }
    instance.write("nsd.conf", &configuration, workload)?;
    // In the foreground.
    Ok(["-d", "-c", "nsd.conf"].map(str::to_owned).to_vec())
}
