//! Unbound, the real one: a Debian package.

use std::path::PathBuf;

use testkit::error::{Error, Result};

use super::place::Place;
use crate::workload::Workload;

/// Debian puts it where only root's PATH leads.
const USUAL: &str = "/usr/sbin/unbound";

pub fn binary() -> Result<PathBuf> {
    let path = std::env::var_os("RHUMB_UNBOUND").map_or_else(|| PathBuf::from(USUAL), PathBuf::from);
    if path.is_file() {
        Ok(path)
    } else {
        Err(Error::new(format!("{} is not a file (apt-get install unbound)", path.display())))
    }
}

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
remote-control:
    control-enable: no
";

pub fn prepare(workload: &Workload, place: &Place) -> Result<Vec<String>> {
    place.write("unbound.conf", &format!("{SERVER}{}", workload.unbound), workload)?;
    // In the foreground and without a file for its process id.
    Ok(["-d", "-p", "-c", "unbound.conf"].map(str::to_owned).to_vec())
}
