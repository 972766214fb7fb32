//! Registers metrics of other plugins even where these are not in use: a counter that appears only with its first
//! failure cannot be alerted on.

use metrics::RegisterError;

use crate::{forward, health, hosts, local};

pub(super) fn register() -> Result<(), RegisterError> {
    forward::register_metrics();
    health::register_metrics()?;
    hosts::register_metrics();
    local::register_metrics()?;
    Ok(())
}
