//! Socket addresses in the kernel's format: read without `unsafe`, sent back without conversion.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A `sockaddr_in` or `sockaddr_in6`. Our sockets have no other family, and `sockaddr_storage` would take 128 bytes per
/// slot. In words, since octets would be copied one by one.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RawAddr([u32; RawAddr::SIZE / 4]);

impl RawAddr {
    pub(crate) const SIZE: usize = size_of::<libc::sockaddr_in6>();
    pub(crate) const ZERO: RawAddr = RawAddr([0; Self::SIZE / 4]);
    const V4_SIZE: usize = size_of::<libc::sockaddr_in>();

    /// The length to pass to the kernel with this address.
    pub(crate) fn len(&self) -> libc::socklen_t {
        if self.family() == libc::AF_INET { Self::V4_SIZE as _ } else { Self::SIZE as _ }
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        let mut words = [0; Self::SIZE / 4];
        for (word, octets) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_ne_bytes(*octets);
        }
        Self(words)
    }

    /// Converts it; `None` for another family.
    pub(crate) fn to_socket_addr(self) -> Option<SocketAddr> {
        let [head, second, a, b, c, d, scope] = self.0;
        let [.., p0, p1] = head.to_ne_bytes();
        let port = u16::from_be_bytes([p0, p1]);
        match self.family() {
            libc::AF_INET => Some(SocketAddrV4::new(Ipv4Addr::from(second.to_ne_bytes()), port).into()),
            libc::AF_INET6 => {
                let mut octets = [0; 16];
                octets.copy_from_slice([a, b, c, d].map(u32::to_ne_bytes).as_flattened());
                Some(SocketAddrV6::new(octets.into(), port, second, scope).into())
            }
            _ => None,
        }
    }

    /// The address of a sender; IPv4 is never mapped.
    pub(crate) fn remote(&self) -> SocketAddr {
        // Our sockets have no other family; for one, 0.0.0.0:0 is an address that receives no reply.
        self.to_socket_addr().map_or(UNSPECIFIED, unmapped)
    }

    fn family(&self) -> libc::c_int {
        let [f0, f1, ..] = self.0[0].to_ne_bytes();
        libc::c_int::from(libc::sa_family_t::from_ne_bytes([f0, f1]))
    }
}

const UNSPECIFIED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

// The offsets used above are the kernel's; here the compiler compares them with libc's.
const _: () = {
    use std::mem::offset_of;
    assert!(
        offset_of!(libc::sockaddr_in, sin_family) == 0 && offset_of!(libc::sockaddr_in6, sin6_family) == 0
    );
    assert!(offset_of!(libc::sockaddr_in, sin_port) == 2 && offset_of!(libc::sockaddr_in6, sin6_port) == 2);
    assert!(offset_of!(libc::sockaddr_in, sin_addr) == 4 && offset_of!(libc::sockaddr_in6, sin6_addr) == 8);
    assert!(offset_of!(libc::sockaddr_in6, sin6_flowinfo) == 4);
    assert!(offset_of!(libc::sockaddr_in6, sin6_scope_id) == 24);
    assert!(RawAddr::SIZE == 28 && size_of::<RawAddr>() == RawAddr::SIZE);
    assert!(align_of::<RawAddr>() >= align_of::<libc::sockaddr_in6>());
};

/// Converts `::ffff:a.b.c.d`, an IPv4 client of a dual-stack socket, to `a.b.c.d`.
pub(crate) fn unmapped(addr: SocketAddr) -> SocketAddr {
    match addr {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddrV4::new(v4, v6.port()).into(),
            None => addr,
        },
        SocketAddr::V4(_) => addr,
    }
}

/// The same for an address without port.
pub(crate) fn unmapped_ip(ip: Ipv6Addr) -> IpAddr {
    ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_bytes_become_addresses() {
        // (family, bytes after it, expected)
        let table: [(libc::c_int, &[u8], Option<&str>); 4] = [
            (libc::AF_INET, &[0, 53, 10, 0, 0, 1], Some("10.0.0.1:53")),
            (libc::AF_INET6, &[0x14, 0xe9], Some("[::]:5353")),
            (libc::AF_UNIX, &[0, 53], None),
            (0, &[], None),
        ];
        for (family, rest, expected) in table {
            let mut bytes = [0; RawAddr::SIZE];
            bytes[..2].copy_from_slice(&(family as libc::sa_family_t).to_ne_bytes());
            bytes[2..2 + rest.len()].copy_from_slice(rest);
            let raw = RawAddr::from_bytes(bytes);
            assert_eq!(raw.to_socket_addr(), expected.map(|text| text.parse().unwrap()));
        }
    }

    #[test]
    fn scope_survives() {
        let mut bytes = [0; RawAddr::SIZE];
        bytes[..2].copy_from_slice(&(libc::AF_INET6 as libc::sa_family_t).to_ne_bytes());
        bytes[8..10].copy_from_slice(&[0xfe, 0x80]);
        bytes[24..].copy_from_slice(&3_u32.to_ne_bytes());
        assert_eq!(RawAddr::from_bytes(bytes).to_socket_addr().unwrap().to_string(), "[fe80::%3]:0");
    }

    #[test]
    fn only_mapped_addresses_are_unmapped() {
        let table = [
            ("[::ffff:192.0.2.1]:9", "192.0.2.1:9"),
            ("[::1]:9", "[::1]:9"),
            ("[::192.0.2.1]:9", "[::192.0.2.1]:9"),
            ("192.0.2.1:9", "192.0.2.1:9"),
        ];
        for (from, to) in table {
            let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
            assert_eq!(unmapped(from), to);
            if let IpAddr::V6(ip) = from.ip() {
                assert_eq!(unmapped_ip(ip), to.ip());
            }
        }
    }
}
