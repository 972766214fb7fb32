//! Rhumb and CoreDNS: the same Corefile, the same words. Both start one worker per processor they may use: one.

use testkit::error::Result;

use super::place::Place;
use crate::workload::Workload;

pub fn prepare(workload: &Workload, place: &Place) -> Result<Vec<String>> {
    place.write("Corefile", &workload.corefile, workload)?;
    Ok(["-conf", "Corefile"].map(str::to_owned).to_vec())
}
