//! Octets as text of 16, 32 or 64 characters (RFC 4648).

/// An alphabet and its rules.
pub struct Radix {
    alphabet: &'static [u8],
    bits: u32,
    /// Whether `=` fills the last group.
    padded: bool,
    /// Whether the case of letters matters.
    cased: bool,
}

pub const BASE16: Radix = Radix { alphabet: b"0123456789ABCDEF", bits: 4, padded: false, cased: false };
/// Base 32 with the extended hex alphabet, as in NSEC3.
pub const BASE32HEX: Radix =
    Radix { alphabet: b"0123456789ABCDEFGHIJKLMNOPQRSTUV", bits: 5, padded: false, cased: false };
pub const BASE64: Radix = Radix {
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    bits: 6,
    padded: true,
    cased: true,
};

impl Radix {
    pub fn encode(&self, data: &[u8]) -> String {
        let mut out = String::with_capacity(data.len() * 8 / self.bits as usize + 4);
        let (mut buffer, mut have) = (0u32, 0);
        let mut digit = |value: u32| {
            out.push(char::from(self.alphabet[value as usize & (self.alphabet.len() - 1)]));
        };
        for &byte in data {
            buffer = buffer << 8 | u32::from(byte);
            have += 8;
            while have >= self.bits {
                have -= self.bits;
                digit(buffer >> have);
            }
        }
        if have > 0 {
            digit(buffer << (self.bits - have));
        }
        while self.padded && !out.len().is_multiple_of(4) {
            out.push('=');
        }
        out
    }

    /// None for other characters, a wrong length or wrong padding. Unused bits of the last character may be set.
    pub fn decode(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut digits = text;
        if self.padded {
            if !text.len().is_multiple_of(4) {
                return None;
            }
            digits = digits.strip_suffix(b"=").unwrap_or(digits);
            digits = digits.strip_suffix(b"=").unwrap_or(digits);
        }
        // What remains must be less than one character.
        if digits.len() as u32 * self.bits % 8 >= self.bits {
            return None;
        }
        let mut out = Vec::with_capacity(digits.len() * self.bits as usize / 8);
        let (mut buffer, mut have) = (0u32, 0);
        for &byte in digits {
            buffer = buffer << self.bits | self.value(byte)?;
            have += self.bits;
            if have >= 8 {
                have -= 8;
                out.push((buffer >> have) as u8);
            }
        }
        Some(out)
    }

    fn value(&self, byte: u8) -> Option<u32> {
        let byte = if self.cased { byte } else { byte.to_ascii_uppercase() };
        self.alphabet.iter().position(|known| *known == byte).map(|value| value as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rfc4648_10() {
        for (radix, data, text) in [
            (&BASE64, &b""[..], ""),
            (&BASE64, b"f", "Zg=="),
            (&BASE64, b"fo", "Zm8="),
            (&BASE64, b"foobar", "Zm9vYmFy"),
            (&BASE32HEX, b"foob", "CPNMUOG"),
            (&BASE16, b"foobar", "666F6F626172"),
        ] {
            assert_eq!(radix.encode(data), text);
            assert_eq!(radix.decode(text.as_bytes()).as_deref(), Some(data), "{text}");
        }
        for (radix, text) in [
            (&BASE64, "Zg="),
            (&BASE64, "Z==="),
            (&BASE64, "Zg==Zg=="),
            (&BASE64, "Zg-="),
            (&BASE16, "123"),
            (&BASE16, "1g"),
            (&BASE32HEX, "C"),
            (&BASE32HEX, "CW"),
        ] {
            assert_eq!(radix.decode(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn decoding_reverses_encoding(data in proptest::collection::vec(any::<u8>(), 0..40)) {
            for radix in [BASE16, BASE32HEX, BASE64] {
                prop_assert_eq!(radix.decode(radix.encode(&data).as_bytes()), Some(data.clone()));
            }
        }
    }
}
