//! The OPT pseudo-record of a query (RFC 6891).

/// The fixed fields of the client's OPT record; plugins may change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edns {
    /// The client's UDP payload size as sent; it may be below 512.
    pub udp_size: u16,
    pub version: u8,
    pub extended_rcode: u8,
    /// DO is the top bit.
    pub flags: u16,
}

impl Edns {
    pub const DO: u16 = 0x8000;

    pub fn dnssec_ok(&self) -> bool {
        self.flags & Edns::DO != 0
    }
}

/// One option of an OPT record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdnsOption<'a> {
    pub code: u16,
    pub data: &'a [u8],
}

/// Option codes.
pub mod option {
    pub const LLQ: u16 = 1;
    pub const UPDATE_LEASE: u16 = 2;
    pub const NSID: u16 = 3;
    pub const SUBNET: u16 = 8;
    pub const EXPIRE: u16 = 9;
    pub const COOKIE: u16 = 10;
    pub const TCP_KEEPALIVE: u16 = 11;
    pub const PADDING: u16 = 12;
    pub const EXTENDED_ERROR: u16 = 15;
    pub const REPORT_CHANNEL: u16 = 18;
    pub const ZONE_VERSION: u16 = 19;
}

/// Iterates over the options of OPT data that passed [`valid`].
pub(crate) fn options(mut data: &[u8]) -> impl Iterator<Item = EdnsOption<'_>> {
    std::iter::from_fn(move || {
        let (head, rest) = data.split_first_chunk::<4>()?;
        let code = u16::from_be_bytes([head[0], head[1]]);
        let len = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let (body, rest) = rest.split_at_checked(len)?;
        data = rest;
        Some(EdnsOption { code, data: body })
    })
}

/// Size of the options after decoding and encoding again: subnets are padded to their prefix, zero keepalive timeouts
/// omitted. The query log reports this size, as CoreDNS does.
pub(crate) fn rewritten_len(data: &[u8]) -> usize {
    options(data).map(|found| 4 + rewritten_option_len(found)).sum()
}

fn rewritten_option_len(found: EdnsOption<'_>) -> usize {
    let data = found.data;
    match found.code {
        option::SUBNET => match *data {
            [0, 1 | 2, source, ..] => 4 + usize::from(source).div_ceil(8),
            _ => 4,
        },
        option::TCP_KEEPALIVE if data == [0, 0] => 0,
        option::EXPIRE => data.len().min(4),
        option::LLQ => 18,
        option::UPDATE_LEASE if data.get(4..) == Some(&[0; 4]) => 4,
        option::REPORT_CHANNEL => {
            let mut agent = crate::NameBuf::root();
            agent.read(data, 0).map_or(data.len(), |_| agent.as_name().len())
        }
        _ => data.len(),
    }
}

/// Whether OPT data is a whole number of well-formed options.
pub(crate) fn valid(data: &[u8]) -> bool {
    let mut seen = 0;
    for found in options(data) {
        if !well_formed(found) {
            return false;
        }
        seen += 4 + found.data.len();
    }
    seen == data.len()
}

/// Checks the options with a defined format; others may contain anything.
fn well_formed(found: EdnsOption<'_>) -> bool {
    let data = found.data;
    match found.code {
        option::LLQ => data.len() >= 18,
        option::UPDATE_LEASE => matches!(data.len(), 4 | 8),
        option::EXPIRE => data.is_empty() || data.len() >= 4,
        option::TCP_KEEPALIVE => matches!(data.len(), 0 | 2),
        option::EXTENDED_ERROR | option::ZONE_VERSION => data.len() >= 2,
        option::REPORT_CHANNEL => crate::NameBuf::root().read(data, 0).is_ok(),
        option::SUBNET => match *data {
            [0, 0, source, _, ..] => source == 0,
            [0, 1, source, scope, ..] => source <= 32 && scope <= 32,
            [0, 2, source, scope, ..] => source <= 128 && scope <= 128,
            _ => false,
        },
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_is_that_of_reencoded_options() {
        for (data, len) in [
            (&[0, 8, 0, 4, 0, 1, 24, 0][..], 4 + 4 + 3),
            (&[0, 8, 0, 4, 0, 0, 0, 0], 4 + 4),
            (&[0, 11, 0, 2, 0, 0], 4),
            (&[0, 11, 0, 2, 0, 9], 6),
            (&[0, 9, 0, 0, 0, 3, 0, 1, 7], 4 + 5),
        ] {
            assert_eq!(rewritten_len(data), len, "{data:?}");
        }
    }

    #[test]
    fn malformed_options_are_invalid() {
        for (data, ok) in [
            (&[][..], true),
            (&[0, 3, 0, 0], true),
            (&[0, 3, 0, 1], false),
            (&[0, 3, 0], false),
            (&[0, 8, 0, 4, 0, 1, 33, 0], false),
            (&[0, 8, 0, 4, 0, 1, 0, 0], true),
            (&[0, 8, 0, 4, 0, 0, 8, 0], false),
            (&[0, 11, 0, 1, 0], false),
            (&[0, 15, 0, 1, 0], false),
            (&[0xFD, 0xE9, 0, 2, 1, 2, 0, 12, 0, 0], true),
        ] {
            assert_eq!(valid(data), ok, "{data:?}");
        }
    }
}
