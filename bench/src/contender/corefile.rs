//! Rhumb and CoreDNS: the same Corefile and arguments. Both start one worker per available CPU: one.

use testkit::error::Result;

use super::instance::Instance;
use crate::workload::Workload;

pub fn prepare(workload: &Workload, instance: &Instance) -> Result<Vec<String>> {
    instance.write("Corefile", &workload.corefile, workload)?;
    Ok(["-conf", "Corefile"].map(str::to_owned).to_vec())
}
