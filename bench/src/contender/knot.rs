//! Knot DNS, the real one: a Debian package.

use testkit::error::Result;

use super::instance::Instance;
use crate::workload::Workload;

/// One worker each for UDP and TCP on the one CPU; no signing, no rate limit and no journal. It logs errors only, which
/// are printed when it does not start.
const SERVER: &str = "server:
    listen: 127.0.0.1@{port}
    rundir: .
    pidfile: knot.pid
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
log:
  - target: stderr
    any: error
database:
    storage: .
template:
  - id: default
    storage: .
    zonefile-sync: -1
    zonefile-load: whole
    journal-content: none
    semantic-checks: off
";

pub fn prepare(workload: &Workload, instance: &Instance) -> Result<Vec<String>> {
    let mut configuration = format!("{SERVER}zone:\n");
    for zone in &workload.zones {
        let (name, file) = (zone.name, instance.write_zone(zone)?);
        configuration.push_str(&format!("  - domain: {name}\n    file: {file}\n"));
    }
    instance.write("knot.conf", &configuration, workload)?;
    Ok(["-c", "knot.conf"].map(str::to_owned).to_vec())
}
