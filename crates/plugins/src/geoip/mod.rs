//! Offers metadata about the client's address from a MaxMind database.
//!
//! The lookup happens when another plugin reads a label. `query` only stores the EDNS client subnet, because plugins
//! below may change it.

mod database;
mod record;
mod setup;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use server::{Hooks, Metadata, MetadataView, Plugin, Slot, Step, Visit};
use wire::{Query, option};

use database::Database;
pub(crate) use setup::setup;

struct GeoIp {
    database: Arc<Database>,
    /// Looks up the EDNS client subnet instead of the client's address, where a query has one.
    edns_subnet: bool,
}

impl Plugin for GeoIp {
    fn name(&self) -> &'static str {
        "geoip"
    }

    fn hooks(&self) -> Hooks {
        if self.edns_subnet { Hooks::QUERY } else { Hooks::NONE }
    }

    fn query(&self, visit: &mut Visit<'_>) -> Step {
        let subnet = subnet(visit.query);
        store_subnet(visit.slot(), subnet);
        if let Some(subnet) = subnet {
            visit.note(|_| format!("EDNS client subnet: {subnet}"));
        }
        Step::Next
    }
}

impl Metadata for GeoIp {
    fn value(&self, label: &str, view: &MetadataView<'_>) -> Option<String> {
        let label = label.strip_prefix("geoip/")?;
        let subnet = match view.slot().map(load_subnet) {
            _ if !self.edns_subnet => None,
            Some(Some(subnet)) => subnet,
            // A view reads metadata before `query` has run.
            _ => subnet(view.query),
        };
        self.database.value(label, subnet.unwrap_or_else(|| view.client.remote.ip()))
    }
}

/// Values of the slot's first word; 0 before `query` has run.
const WITHOUT_SUBNET: u64 = 1;
const WITH_SUBNET: u64 = 2;

fn store_subnet(slot: &mut Slot, subnet: Option<IpAddr>) {
    let (state, bits) = match subnet {
        Some(IpAddr::V4(address)) => (WITH_SUBNET, address.to_ipv6_mapped().to_bits()),
        Some(IpAddr::V6(address)) => (WITH_SUBNET, address.to_bits()),
        None => (WITHOUT_SUBNET, 0),
    };
    slot.words = [state, (bits >> 64) as u64, bits as u64, 0];
}

/// The subnet that [`store_subnet`] stored; None if it has not run.
fn load_subnet(slot: &Slot) -> Option<Option<IpAddr>> {
    let bits = u128::from(slot.words[1]) << 64 | u128::from(slot.words[2]);
    match slot.words[0] {
        WITHOUT_SUBNET => Some(None),
        WITH_SUBNET => Some(Some(IpAddr::V6(Ipv6Addr::from_bits(bits)))),
        _ => None,
    }
}

/// The address of the first client subnet option (RFC 7871 §6). IPv4 becomes an IPv4-mapped IPv6 address, as in
/// CoreDNS, which databases with `::ffff:0:0/96` contain, and IPv4-only databases do not.
fn subnet(query: &Query) -> Option<IpAddr> {
    let found = query.options().find(|found| found.code == option::SUBNET)?;
    let (head, address) = found.data.split_first_chunk::<4>()?;
    let padded = |octets: &mut [u8]| {
        let given = octets.len().min(address.len());
        octets[..given].copy_from_slice(&address[..given]);
    };
    match u16::from_be_bytes([head[0], head[1]]) {
        2 => {
            let mut octets = [0; 16];
            padded(&mut octets);
            Some(Ipv6Addr::from(octets).into())
        }
        _ => {
            let mut octets = [0; 4];
            padded(&mut octets);
            Some(Ipv4Addr::from(octets).to_ipv6_mapped().into())
        }
    }
}
