//! The alternative names of a certificate (RFC 5280, section 4.2.1.6).
//!
//! ```text
//! Certificate ─ TBSCertificate ─ [3] extensions ─ Extension ─ OCTET STRING ─ GeneralNames
//! ```

use std::net::IpAddr;

const SEQUENCE: u8 = 0x30;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const EXTENSIONS: u8 = 0xa3;
/// 2.5.29.17
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];

const EMAIL: u8 = 0x81;
const DNS: u8 = 0x82;
const URI: u8 = 0x86;
const IP: u8 = 0x87;

/// DNS names, addresses of mail, IP addresses and URIs, as texts. Nothing if the certificate cannot be read.
pub(super) fn names(certificate: &[u8]) -> Vec<String> {
    extension(certificate).map(|names| Elements(names).filter_map(name).collect()).unwrap_or_default()
}

/// The content of the GeneralNames.
fn extension(certificate: &[u8]) -> Option<&[u8]> {
    let signed = find(certificate, SEQUENCE)?;
    let body = find(signed, SEQUENCE)?;
    let extensions = find(find(body, EXTENSIONS)?, SEQUENCE)?;
    let wanted = |extension: &&[u8]| find(extension, OBJECT_IDENTIFIER) == Some(SUBJECT_ALT_NAME);
    let extension = Elements(extensions).map(|(_, content)| content).find(wanted)?;
    find(find(extension, OCTET_STRING)?, SEQUENCE)
}

fn name((tag, content): (u8, &[u8])) -> Option<String> {
    match tag {
        EMAIL | DNS | URI => String::from_utf8(content.to_vec()).ok(),
        IP => {
            let v4 = <[u8; 4]>::try_from(content).map(IpAddr::from);
            let ip = v4.or_else(|_| <[u8; 16]>::try_from(content).map(IpAddr::from)).ok()?;
            Some(ip.to_canonical().to_string())
        }
        _ => None,
    }
}

fn find(der: &[u8], tag: u8) -> Option<&[u8]> {
    Elements(der).find(|(found, _)| *found == tag).map(|(_, content)| content)
}

/// Tags and contents one after another; ends at the first that is not DER.
struct Elements<'a>(&'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            // Two bytes of length, 65,535 bytes, are more than a certificate in a handshake has.
            0x81 | 0x82 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An element.
    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len();
        let mut out = vec![tag];
        match length {
            0..0x80 => out.push(length as u8),
            _ => out.extend([0x82, (length >> 8) as u8, length as u8]),
        }
        out.extend(content);
        out
    }

    #[test]
    fn reads_all_kinds_and_survives_all_else() {
        let names_in = [
            (DNS, &b"a.example.org"[..]),
            (DNS, b"*.example.org"),
            (EMAIL, b"me@example.org"),
            (URI, b"spiffe://example.org/scraper"),
            (IP, &[192, 0, 2, 1]),
            (IP, &[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            // Of no use: a name in a directory, an address of three bytes, text that is none.
            (0xa4, b"x"),
            (IP, &[1, 2, 3]),
            (DNS, &[0xff]),
        ];
        let general: Vec<u8> = names_in.iter().flat_map(|(tag, content)| der(*tag, content)).collect();
        let san = der(
            SEQUENCE,
            &[
                der(OBJECT_IDENTIFIER, SUBJECT_ALT_NAME),
                der(0x01, &[0xff]),
                der(OCTET_STRING, &der(SEQUENCE, &general)),
            ]
            .concat(),
        );
        let other =
            der(SEQUENCE, &[der(OBJECT_IDENTIFIER, &[0x55, 0x1d, 0x0e]), der(OCTET_STRING, &[1])].concat());
        let extensions = der(EXTENSIONS, &der(SEQUENCE, &[other, san].concat()));
        let body = der(SEQUENCE, &[der(0xa0, &[2]), der(0x02, &[1]), extensions].concat());
        let certificate = der(SEQUENCE, &[body, der(0x03, &[0; 200])].concat());
        let expected = [
            "a.example.org",
            "*.example.org",
            "me@example.org",
            "spiffe://example.org/scraper",
            "192.0.2.1",
            "2001:db8::1",
        ];
        assert_eq!(names(&certificate), expected);

        for cut in 0..certificate.len() {
            let _ = names(&certificate[..cut]);
            let mut wrong = certificate.clone();
            wrong[cut] ^= 0x83;
            let _ = names(&wrong);
        }
        assert!(names(&der(SEQUENCE, &der(SEQUENCE, &[]))).is_empty());
    }
}
