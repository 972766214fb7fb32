//! Control messages: the local address a datagram was sent to, and the source of a reply.
//!
//! The layout is the kernel's `struct cmsghdr`: a word of length, level, type, then the data. libc's CMSG macros do the
//! same with raw pointers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::address;

const HEADER: usize = size_of::<usize>() + 8;
const V4_DATA: usize = size_of::<libc::in_pktinfo>();
const V6_DATA: usize = size_of::<libc::in6_pktinfo>();

/// Size of a header and its data, padded to a word as the kernel requires.
const fn space(data: usize) -> usize {
    (HEADER + data).next_multiple_of(size_of::<usize>())
}

/// A buffer for either of the two messages that are enabled.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct ControlBuf([u8; ControlBuf::SIZE]);

impl ControlBuf {
    pub(crate) const SIZE: usize = space(V6_DATA);
    pub(crate) const ZERO: ControlBuf = ControlBuf([0; Self::SIZE]);

    /// The first `len` bytes, those the kernel wrote.
    pub(crate) fn filled(&self, len: usize) -> &[u8] {
        self.0.get(..len).unwrap_or(&self.0)
    }
}

/// A control message to send; none if `len` is 0.
#[derive(Clone, Copy)]
pub(crate) struct Control {
    buf: ControlBuf,
    len: usize,
}

impl Control {
    pub(crate) const NONE: Control = Control { buf: ControlBuf::ZERO, len: 0 };

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.buf.filled(self.len)
    }
}

/// The local address of a datagram, in the form that its socket needs for the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Local {
    /// Pktinfo is not enabled: the socket's own address is the source.
    Unknown,
    /// From an IPv4 socket.
    V4(Ipv4Addr),
    /// From an IPv6 socket; IPv4 is mapped. The interface index is kept for link-local addresses only: replies from others
    /// may be routed by another interface.
    V6(Ipv6Addr, u32),
}

impl Local {
    /// IPv4 is never mapped.
    pub(crate) fn address(self) -> Option<IpAddr> {
        match self {
            Local::Unknown => None,
            Local::V4(ip) => Some(ip.into()),
            Local::V6(ip, _) => Some(address::unmapped_ip(ip)),
        }
    }
}

/// Finds the pktinfo among the received control messages.
#[inline]
pub(crate) fn parse(mut control: &[u8]) -> Local {
    while let Some((header, rest)) = control.split_first_chunk::<HEADER>() {
        let len = usize::from_ne_bytes(chunk(header, 0));
        let level = i32::from_ne_bytes(chunk(header, HEADER - 8));
        let kind = i32::from_ne_bytes(chunk(header, HEADER - 4));
        let Some(data) = len.checked_sub(HEADER).and_then(|len| rest.get(..len)) else { break };
        match (level, kind) {
            (libc::IPPROTO_IP, libc::IP_PKTINFO) if data.len() >= V4_DATA => {
                // ipi_spec_dst is the source for a reply, also if ipi_addr is a broadcast or multicast address.
                // The kernel leaves it empty if it has no route any more.
                let spec_dst = Ipv4Addr::from(chunk::<4>(data, 4));
                let addr = Ipv4Addr::from(chunk::<4>(data, 8));
                return Local::V4(if spec_dst.is_unspecified() { addr } else { spec_dst });
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) if data.len() >= V6_DATA => {
                let addr = Ipv6Addr::from(chunk::<16>(data, 0));
                let index = u32::from_ne_bytes(chunk(data, 16));
                return Local::V6(addr, if needs_interface(addr) { index } else { 0 });
            }
            _ => control = control.get(len.next_multiple_of(size_of::<usize>())..).unwrap_or_default(),
        }
    }
    Local::Unknown
}

/// Writes the control message that sets the source of a reply to `local`.
pub(crate) fn write(local: Local, control: &mut Control) {
    control.len = 0;
    match local {
        Local::Unknown => {}
        Local::V4(addr) if is_group(addr) => {}
        Local::V4(addr) => {
            // struct in_pktinfo { ipi_ifindex, ipi_spec_dst, ipi_addr }: the second is the source.
            header(control, libc::IPPROTO_IP, libc::IP_PKTINFO, V4_DATA);
            control.buf.0[HEADER + 4..HEADER + 8].copy_from_slice(&addr.octets());
        }
        Local::V6(addr, _) if addr.to_ipv4_mapped().is_some_and(is_group) => {}
        Local::V6(addr, index) => {
            // A multicast address cannot be a source: the kernel chooses one on the same interface.
            let source = if addr.is_multicast() { Ipv6Addr::UNSPECIFIED } else { addr };
            header(control, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, V6_DATA);
            control.buf.0[HEADER..HEADER + 16].copy_from_slice(&source.octets());
            control.buf.0[HEADER + 16..HEADER + 20].copy_from_slice(&index.to_ne_bytes());
        }
    }
}

fn header(control: &mut Control, level: i32, kind: i32, data: usize) {
    let header = &mut control.buf.0[..HEADER];
    header[..HEADER - 8].copy_from_slice(&(HEADER + data).to_ne_bytes());
    header[HEADER - 8..HEADER - 4].copy_from_slice(&level.to_ne_bytes());
    header[HEADER - 4..].copy_from_slice(&kind.to_ne_bytes());
    control.buf.0[HEADER..].fill(0);
    control.len = space(data);
}

/// A link-local address is ambiguous without its interface.
fn needs_interface(addr: Ipv6Addr) -> bool {
    addr.is_unicast_link_local() || addr.is_multicast()
}

fn is_group(addr: Ipv4Addr) -> bool {
    addr.is_multicast() || addr.is_broadcast()
}

/// `N` bytes from `start`; the caller has checked the bounds.
fn chunk<const N: usize>(bytes: &[u8], start: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[start..start + N]);
    out
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(libc::cmsghdr, cmsg_level) == HEADER - 8 && size_of::<libc::cmsghdr>() == HEADER);
    assert!(offset_of!(libc::in_pktinfo, ipi_spec_dst) == 4 && offset_of!(libc::in_pktinfo, ipi_addr) == 8);
    assert!(offset_of!(libc::in6_pktinfo, ipi6_ifindex) == 16);
    assert!(align_of::<ControlBuf>() >= align_of::<usize>());
};

#[cfg(test)]
mod tests {
    use super::*;

    fn build(local: Local) -> Control {
        // Old contents are overwritten.
        let mut control = Control { buf: ControlBuf([0xFF; ControlBuf::SIZE]), len: 7 };
        write(local, &mut control);
        control
    }

    #[test]
    fn written_messages_are_read_back() {
        let v4 = |s: &str| Local::V4(s.parse().unwrap());
        let v6 = |s: &str, index| Local::V6(s.parse().unwrap(), index);
        // (sent to, source of the reply)
        let table = [
            (Local::Unknown, Local::Unknown),
            (v4("127.0.0.2"), v4("127.0.0.2")),
            (v4("224.0.0.251"), Local::Unknown),
            (v4("255.255.255.255"), Local::Unknown),
            (v6("2001:db8::1", 0), v6("2001:db8::1", 0)),
            (v6("fe80::1", 7), v6("fe80::1", 7)),
            (v6("::ffff:10.0.0.1", 0), v6("::ffff:10.0.0.1", 0)),
            (v6("::ffff:224.0.0.251", 0), Local::Unknown),
            (v6("ff02::fb", 3), v6("::", 0)),
        ];
        for (sent_to, source) in table {
            assert_eq!(parse(build(sent_to).as_slice()), source, "{sent_to:?}");
        }
        // The interface of a multicast query is written, though `parse` drops it for the unspecified address.
        let control = build(v6("ff02::fb", 3));
        assert_eq!(control.as_slice()[HEADER + 16..HEADER + 20], 3_u32.to_ne_bytes());
    }

    #[test]
    fn truncated_or_other_messages_have_no_address() {
        let whole = build(Local::V6(Ipv6Addr::LOCALHOST, 0));
        let whole = whole.as_slice();
        for len in 0..HEADER + V6_DATA {
            assert_eq!(parse(&whole[..len]), Local::Unknown, "cut to {len}");
        }
        // Another message before ours is skipped.
        let mut other = Control::NONE;
        header(&mut other, libc::SOL_SOCKET, libc::SO_TIMESTAMP, 4);
        let both = [other.as_slice(), whole].concat();
        assert_eq!(parse(&both), Local::V6(Ipv6Addr::LOCALHOST, 0));
        // A length of zero must not loop.
        assert_eq!(parse(&[0; 64]), Local::Unknown);
    }
}
