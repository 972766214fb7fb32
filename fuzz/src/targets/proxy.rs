//! PROXY protocol headers: any bytes are a header, a prefix of one or neither, and more bytes never change that.

use server::proxy_protocol::header::{Parsed, parse};

pub fn check(input: &[u8]) {
    let whole = parse(input);
    if let Ok(Parsed::Header(header)) = &whole {
        let len = header.len;
        assert!(
            len <= input.len() && header.tlvs.len() <= len,
            "a header of {len} of {} octets",
            input.len()
        );
        assert_eq!(parse(&input[..len]), whole, "bytes after the header change it");
    }
    // A TCP connection delivers a header in pieces.
    for len in (0..input.len().min(300)).step_by(7) {
        let part = parse(&input[..len]);
        if !matches!(part, Ok(Parsed::Unsigned | Parsed::Partial)) {
            assert_eq!(part, whole, "the first {len} octets and all of them differ");
        }
    }
}
