//! Knot DNS, the real one: a Debian package.

use testkit::error::Result;

use super::place::Place;
use crate::workload::Workload;

/// One worker each for UDP and TCP on the one processor; it signs nothing, limits nothing and keeps no journal. It logs
/// errors alone, which are shown when it does not start.
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

pub fn prepare(workload: &Workload, place: &Place) -> Result<Vec<String>> {
    let mut configuration = format!("{SERVER}zone:\n");
    for zone in &workload.zones {
        let (name, file) = (zone.name, place.write_zone(zone)?);
        configuration.push_str(&format!("  - domain: {name}\n    file: {file}\n"));
    }
    place.write("knot.conf", &configuration, workload)?;
    Ok(["-c", "knot.conf"].map(str::to_owned).to_vec())
}
