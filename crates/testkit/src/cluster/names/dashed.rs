//! Addresses as labels.

use std::net::IpAddr;

/// An address with dashes for its dots or colons, as in names of endpoints and pods. A label may not end in a
/// dash, so a zero is appended.
pub fn dashed(address: IpAddr) -> String {
    let mut label = address.to_string().replace(['.', ':'], "-");
    if label.ends_with('-') {
        label.push('0');
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families() {
        for (address, label) in [("10.0.0.1", "10-0-0-1"), ("fd00::1", "fd00--1"), ("fd00::", "fd00--0")] {
            assert_eq!(dashed(address.parse().unwrap()), label);
        }
    }
}
