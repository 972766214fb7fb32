//! One line of a question file, `name type`, as the packet that dnsperf sends.

use testkit::error::{Context, Error, Result};
use testkit::name::Name;

/// A plain query without EDNS.
pub fn packet(line: &str) -> Result<Vec<u8>> {
    let (name, kind) = line.split_once(' ').ok_or_else(|| Error::new(format!("not a question: {line:?}")))?;
    let name = Name::parse(name).context(line)?;
    let kind: u16 = match kind {
        "A" => 1,
        "PTR" => 12,
        "TXT" => 16,
        "AAAA" => 28,
        "SRV" => 33,
        other => return Err(Error::new(format!("{line}: type {other}"))),
    };
    let mut packet = vec![0x52, 0x48, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    packet.extend_from_slice(name.wire());
    packet.extend_from_slice(&kind.to_be_bytes());
    packet.extend_from_slice(&[0, 1]);
    Ok(packet)
}
