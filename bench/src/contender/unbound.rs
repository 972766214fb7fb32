//! Unbound, the real one: a Debian package. It forwards, or has the zones as local data.

use testkit::error::Result;

use super::instance::Instance;
use crate::population::Zone;
use crate::workload::Workload;

/// For every workload: runs as the current user in its folder, leaves no file and opens one port. One thread, since it
/// has one CPU and the others start one worker there.
const SERVER: &str = "server:
    interface: 127.0.0.1
    port: {port}
    num-threads: 1
    chroot: \"\"
    username: \"\"
    directory: \".\"
    pidfile: \"\"
    use-syslog: no
    logfile: \"\"
    verbosity: 0
";

const NO_CONTROL: &str = "remote-control:
    control-enable: no
";

pub fn prepare(workload: &Workload, instance: &Instance) -> Result<Vec<String>> {
    let local: String = workload.zones.iter().map(local_data).collect();
    let configuration = [SERVER, &local, NO_CONTROL, workload.unbound].concat();
    instance.write("unbound.conf", &configuration, workload)?;
    // In the foreground and without a file for its process id.
    Ok(["-d", "-p", "-c", "unbound.conf"].map(str::to_owned).to_vec())
}

/// Names missing in a static zone are denied.
fn local_data(zone: &Zone) -> String {
    let mut text = format!("    local-zone: \"{}.\" static\n", zone.name);
    for record in &zone.records {
        text.push_str(&format!("    local-data: \"{}\"\n", record.line()));
    }
    text
}
