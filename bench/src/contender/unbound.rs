//! Unbound, the real one: a Debian package. It forwards, or has the zones as local data.

use testkit::error::Result;

use super::place::Place;
use crate::population::Zone;
use crate::workload::Workload;

/// Whatever the workload, it must run as who we are, from the folder it is in, leave no file and open no port but
/// one. One thread, since it has one processor and the others start one worker there.
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

pub fn prepare(workload: &Workload, place: &Place) -> Result<Vec<String>> {
    let local: String = workload.zones.iter().map(local_data).collect();
    let configuration = [SERVER, &local, NO_CONTROL, workload.unbound].concat();
    place.write("unbound.conf", &configuration, workload)?;
    // In the foreground and without a file for its process id.
    Ok(["-d", "-p", "-c", "unbound.conf"].map(str::to_owned).to_vec())
}

/// What is not in a static zone is denied.
fn local_data(zone: &Zone) -> String {
    let mut text = format!("    local-zone: \"{}.\" static\n", zone.name);
    for record in &zone.records {
        text.push_str(&format!("    local-data: \"{}\"\n", record.line()));
    }
    text
}
