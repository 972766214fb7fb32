//! The alternative names of a certificate (RFC 5280, section 4.2.1.6).

use std::net::IpAddr;

use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// DNS names, mail addresses, IP addresses and URIs, as texts. Empty if the certificate cannot be parsed.
pub(crate) fn names(certificate: &[u8]) -> Vec<String> {
    let Ok((_, certificate)) = parse_x509_certificate(certificate) else { return Vec::new() };
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return Vec::new() };
    names.value.general_names.iter().filter_map(name).collect()
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => {
            Some((*text).to_owned())
        }
        GeneralName::IPAddress(octets) => {
            let v4 = <[u8; 4]>::try_from(*octets).map(IpAddr::from);
            let ip = v4.or_else(|_| <[u8; 16]>::try_from(*octets).map(IpAddr::from)).ok()?;
            Some(ip.to_canonical().to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, CustomExtension, KeyPair};

    use super::*;

    const SEQUENCE: u8 = 0x30;
    const EMAIL: u8 = 0x81;
    const DNS: u8 = 0x82;
    const URI: u8 = 0x86;
    const IP: u8 = 0x87;

    /// An element of less than 128 octets, or of less than 256.
    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len() as u8;
        let head = if length < 0x80 { vec![tag, length] } else { vec![tag, 0x81, length] };
        [&head, content].concat()
    }

    /// A certificate with these names, also with kinds that rcgen cannot write.
    fn certificate(names: &[(u8, &[u8])]) -> Vec<u8> {
        let names: Vec<u8> = names.iter().flat_map(|(tag, content)| der(*tag, content)).collect();
        let mut params = CertificateParams::default();
        let san = CustomExtension::from_oid_content(&[2, 5, 29, 17], der(SEQUENCE, &names));
        params.custom_extensions.push(san);
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().to_vec()
    }

    #[test]
    fn reads_all_kinds_and_survives_invalid_input() {
        let certificate = certificate(&[
            (DNS, b"a.example.org"),
            (DNS, b"*.example.org"),
            (EMAIL, b"me@example.org"),
            (URI, b"spiffe://example.org/scraper"),
            (IP, &[192, 0, 2, 1]),
            (IP, &[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            // Ignored: a directory name, an address of three bytes, text that is not ASCII.
            (0xa4, b"x"),
            (IP, &[1, 2, 3]),
            (DNS, &[0xff]),
        ]);
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
