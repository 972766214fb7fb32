//! RDATA syntax of each type.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Problem;
use super::fields::{Fields, absolute, duration, hexadecimal, number};
use super::lex::{Kind, Token, named_type, number_after};
use wire::Rtype;
use wire::layout::{Piece, walk_data};

/// Whether RDATA of the type has its own syntax; for other types it is `\# LENGTH HEX`.
pub(super) fn has_grammar(rtype: Rtype) -> bool {
    let simple = Rtype::MB.0..=Rtype::MR.0;
    simple.contains(&rtype.0)
        || matches!(
            rtype,
            Rtype::A
                | Rtype::NS
                | Rtype::MD
                | Rtype::MF
                | Rtype::CNAME
                | Rtype::SOA
                | Rtype::PTR
                | Rtype::HINFO
                | Rtype::MINFO
                | Rtype::MX
                | Rtype::TXT
                | Rtype::RP
                | Rtype::AFSDB
                | Rtype::X25
                | Rtype::ISDN
                | Rtype::RT
                | Rtype::NSAP_PTR
                | Rtype::PX
                | Rtype::AAAA
                | Rtype::LOC
                | Rtype::SRV
                | Rtype::NAPTR
                | Rtype::KX
                | Rtype::CERT
                | Rtype::DNAME
                | Rtype::DS
                | Rtype::SSHFP
                | Rtype::RRSIG
                | Rtype::NSEC
                | Rtype::DNSKEY
                | Rtype::DHCID
                | Rtype::TLSA
                | Rtype::SMIMEA
                | Rtype::NINFO
                | Rtype::CDS
                | Rtype::CDNSKEY
                | Rtype::OPENPGPKEY
                | Rtype::SVCB
                | Rtype::HTTPS
                | Rtype::SPF
                | Rtype::URI
                | Rtype::CAA
                | Rtype::AVC
                | Rtype::RESINFO
                | Rtype::TA
                | Rtype::DLV
        )
}

impl<'a> Fields<'_, 'a> {
    pub(super) fn typed(&mut self, rtype: Rtype) -> Result<(), Problem> {
        match rtype {
            Rtype::A => self.ipv4(),
            Rtype::AAAA => self.ipv6(),
            Rtype::NS => self.one_name("bad NS Ns"),
            Rtype::CNAME => self.one_name("bad CNAME Target"),
            Rtype::DNAME => self.one_name("bad DNAME Target"),
            Rtype::PTR => self.one_name("bad PTR Ptr"),
            Rtype::NSAP_PTR => self.one_name("bad NSAP-PTR Ptr"),
            Rtype::MB => self.one_name("bad MB Mb"),
            Rtype::MG => self.one_name("bad MG Mg"),
            Rtype::MR => self.one_name("bad MR Mr"),
            Rtype::MD => self.one_name("bad MD Md"),
            Rtype::MF => self.one_name("bad MF Mf"),
            Rtype::RP => self.two_names("bad RP Mbox", "bad RP Txt"),
            Rtype::MINFO => self.two_names("bad MINFO Rmail", "bad MINFO Email"),
            Rtype::MX => self.preference_and_name("bad MX Pref", "bad MX Mx"),
            Rtype::RT => self.preference_and_name("bad RT Preference", "bad RT Host"),
            Rtype::AFSDB => self.preference_and_name("bad AFSDB Subtype", "bad AFSDB Hostname"),
            Rtype::KX => self.preference_and_name("bad KX Pref", "bad KX Exchanger"),
            Rtype::PX => {
                self.u16("bad PX Preference")?;
                self.blank();
                self.name("bad PX Map822")?;
                self.blank();
                self.name("bad PX Mapx400")?;
                self.end()
            }
            Rtype::SOA => self.soa(),
            Rtype::SRV => {
                for message in ["bad SRV Priority", "bad SRV Weight", "bad SRV Port"] {
                    self.u16(message)?;
                    self.blank();
                }
                self.name("bad SRV Target")?;
                self.end()
            }
            Rtype::NAPTR => self.naptr(),
            Rtype::TXT => self.strings("bad TXT Txt"),
            Rtype::SPF => self.strings("bad SPF Txt"),
            Rtype::AVC => self.strings("bad AVC Txt"),
            Rtype::NINFO => self.strings("bad NINFO ZSData"),
            Rtype::RESINFO => self.strings("bad RESINFO Resinfo"),
            Rtype::HINFO => self.two_strings("bad HINFO Fields"),
            Rtype::ISDN => self.two_strings("bad ISDN Fields"),
            Rtype::X25 => {
                let token = self.next();
                if token.bad {
                    return Err(Problem::new("bad X25 PSDNAddress", &token));
                }
                self.text(&token.text);
                self.end()
            }
            Rtype::CAA => self.caa(),
            Rtype::URI => {
                self.u16("bad URI Priority")?;
                self.blank();
                let token = self.next();
                let weight = number(&token.text, u64::from(u16::MAX));
                let weight = weight.ok_or_else(|| Problem::new("bad URI Weight", &token))?;
                self.out.extend_from_slice(&(weight as u16).to_be_bytes());
                self.blank();
                self.single("bad URI Target", &token)
            }
            Rtype::DS => self.ds(["bad DS KeyTag", "bad DS Algorithm", "bad DS DigestType", "bad DS Digest"]),
            Rtype::CDS => {
                self.ds(["bad CDS KeyTag", "bad CDS Algorithm", "bad CDS DigestType", "bad CDS Digest"])
            }
            Rtype::DLV => {
                self.ds(["bad DLV KeyTag", "bad DLV Algorithm", "bad DLV DigestType", "bad DLV Digest"])
            }
            Rtype::TA => self.ds(["bad TA KeyTag", "bad TA Algorithm", "bad TA DigestType", "bad TA Digest"]),
            Rtype::DNSKEY => self.key([
                "bad DNSKEY Flags",
                "bad DNSKEY Protocol",
                "bad DNSKEY Algorithm",
                "bad DNSKEY PublicKey",
            ]),
            Rtype::CDNSKEY => self.key([
                "bad CDNSKEY Flags",
                "bad CDNSKEY Protocol",
                "bad CDNSKEY Algorithm",
                "bad CDNSKEY PublicKey",
            ]),
            Rtype::TLSA => self.tlsa([
                "bad TLSA Usage",
                "bad TLSA Selector",
                "bad TLSA MatchingType",
                "bad TLSA Certificate",
            ]),
            Rtype::SMIMEA => self.tlsa([
                "bad SMIMEA Usage",
                "bad SMIMEA Selector",
                "bad SMIMEA MatchingType",
                "bad SMIMEA Certificate",
            ]),
            Rtype::SSHFP => {
                self.u8("bad SSHFP Algorithm")?;
                self.blank();
                self.u8("bad SSHFP Type")?;
                self.blank();
                self.hexadecimal("bad SSHFP Fingerprint")
            }
            Rtype::CERT => self.cert(),
            Rtype::OPENPGPKEY => self.base64("bad OPENPGPKEY PublicKey"),
            Rtype::DHCID => self.base64("bad DHCID Digest"),
            Rtype::RRSIG => self.rrsig(),
            Rtype::NSEC => self.nsec(),
            Rtype::LOC => self.loc(),
            _ => self.service_binding(),
        }
    }

    /// RFC 3597: any type, as `\# LENGTH HEX`.
    pub(super) fn generic(&mut self, rtype: Rtype, marked: bool, head: &Token<'_>) -> Result<(), Problem> {
        const MESSAGE: &str = "bad RFC3597 Rdata";
        let token = self.next();
        if !marked {
            return Err(Problem::new(MESSAGE, &token));
        }
        self.blank();
        let token = self.next();
        let len = number(&token.text, u64::from(u16::MAX));
        let len = len.ok_or_else(|| Problem::new("bad RFC3597 Rdata ", &token))?;
        let text = self.rest(MESSAGE)?;
        if text.len() as u64 != len * 2 {
            return Err(Problem::new(MESSAGE, &token));
        }
        let known = has_grammar(rtype);
        match hexadecimal(&text) {
            Some(bytes) if known && !bytes.is_empty() => {
                let mut plain = Vec::new();
                let fits = walk_data(rtype, &bytes, 0, bytes.len(), |piece| match piece {
                    Piece::Bytes(bytes) => plain.extend_from_slice(bytes),
                    Piece::Name(name) => plain.extend_from_slice(name.wire()),
                });
                if !fits {
                    return Err(Problem::new("dns: overflow unpacking data", head));
                }
                self.out = plain;
            }
            None if known => return Err(Problem::new(bad_hexadecimal(&text), head)),
            bytes => self.write(bytes),
        }
        Ok(())
    }

    fn ipv4(&mut self) -> Result<(), Problem> {
        let token = self.next();
        let text = std::str::from_utf8(&token.text).ok().filter(|_| !token.bad);
        let address = text.and_then(|text| text.parse::<Ipv4Addr>().ok());
        let address = address.ok_or_else(|| Problem::new("bad A A", &token))?;
        self.out.extend_from_slice(&address.octets());
        self.end()
    }

    fn ipv6(&mut self) -> Result<(), Problem> {
        let token = self.next();
        let text = std::str::from_utf8(&token.text).ok().filter(|_| !token.bad);
        let address = text.and_then(|text| text.parse::<Ipv6Addr>().ok());
        let address = address.ok_or_else(|| Problem::new("bad AAAA AAAA", &token))?;
        self.out.extend_from_slice(&address.octets());
        self.end()
    }

    fn one_name(&mut self, message: &'static str) -> Result<(), Problem> {
        self.name(message)?;
        self.end()
    }

    fn two_names(&mut self, first: &'static str, second: &'static str) -> Result<(), Problem> {
        self.name(first)?;
        self.blank();
        self.name(second)?;
        self.end()
    }

    fn preference_and_name(&mut self, preference: &'static str, name: &'static str) -> Result<(), Problem> {
        self.u16(preference)?;
        self.blank();
        self.name(name)?;
        self.end()
    }

    fn soa(&mut self) -> Result<(), Problem> {
        const MESSAGE: &str = "bad SOA zone parameter";
        self.name("bad SOA Ns")?;
        self.blank();
        self.name("bad SOA Mbox")?;
        for i in 0..5 {
            self.blank();
            let token = self.next();
            let seconds = number(&token.text, u64::from(u32::MAX)).map(|seconds| seconds as u32);
            // The serial is a plain number, the others may have units.
            let value = seconds.or_else(|| if i == 0 { None } else { duration(&token.text) });
            let value = value.filter(|_| !token.bad).ok_or_else(|| Problem::new(MESSAGE, &token))?;
            self.out.extend_from_slice(&value.to_be_bytes());
        }
        self.end()
    }

    fn naptr(&mut self) -> Result<(), Problem> {
        self.u16("bad NAPTR Order")?;
        self.blank();
        self.u16("bad NAPTR Preference")?;
        for message in ["bad NAPTR Flags", "bad NAPTR Service", "bad NAPTR Regexp"] {
            self.blank();
            let text = self.quoted(message)?;
            self.text(&text);
        }
        self.blank();
        self.name("bad NAPTR Replacement")?;
        self.end()
    }

    /// A string in quotes, which are required.
    fn quoted(&mut self, message: &'static str) -> Result<Vec<u8>, Problem> {
        let expect_quote = |token: Token<'_>| match token.kind {
            Kind::Quote => Ok(()),
            _ => Err(Problem::new(message, &token)),
        };
        expect_quote(self.next())?;
        let token = self.next();
        match token.kind {
            Kind::Text => {
                expect_quote(self.next())?;
                Ok(token.text.into_owned())
            }
            Kind::Quote => Ok(Vec::new()),
            _ => Err(Problem::new(message, &token)),
        }
    }

    fn strings(&mut self, message: &'static str) -> Result<(), Problem> {
        for text in self.texts(message)? {
            self.text(&text);
        }
        Ok(())
    }

    /// Two strings; a single quoted one is split at blanks.
    fn two_strings(&mut self, message: &'static str) -> Result<(), Problem> {
        let texts = self.texts(message)?;
        let mut parts: Vec<Vec<u8>> = texts.into_iter().map(|text| text.into_owned()).collect();
        if let [one] = &parts[..] {
            let words: Vec<Vec<u8>> = one
                .split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty())
                .map(<[u8]>::to_vec)
                .collect();
            parts = if words.len() > 1 { words } else { vec![one.clone(), Vec::new()] };
        }
        let (first, others) = match parts.split_first() {
            Some((first, others)) => (first.clone(), others.join(&b" "[..])),
            None => (Vec::new(), Vec::new()),
        };
        self.text(&first);
        self.text(&others);
        Ok(())
    }

    fn caa(&mut self) -> Result<(), Problem> {
        self.u8("bad CAA Flag")?;
        self.blank();
        let token = self.next();
        if token.kind != Kind::Text {
            return Err(Problem::new("bad CAA Tag", &token));
        }
        self.text(&token.text);
        self.blank();
        self.single("bad CAA Value", &token)
    }

    /// One string, written without a length since it is the last field.
    fn single(&mut self, message: &'static str, before: &Token<'_>) -> Result<(), Problem> {
        match &self.texts(message)?[..] {
            [text] => {
                self.octets(text);
                Ok(())
            }
            _ => Err(Problem::new(message, before)),
        }
    }

    fn ds(&mut self, [tag, algorithm, digest_type, digest]: [&'static str; 4]) -> Result<(), Problem> {
        self.u16(tag)?;
        self.blank();
        let token = self.next();
        let upper = token.text.to_ascii_uppercase();
        let found = number(&token.text, 255).or_else(|| algorithm_number(&upper)).filter(|_| !token.bad);
        self.out.push(found.ok_or_else(|| Problem::new(algorithm, &token))? as u8);
        self.blank();
        self.u8(digest_type)?;
        self.hexadecimal(digest)
    }

    fn key(&mut self, [flags, protocol, algorithm, key]: [&'static str; 4]) -> Result<(), Problem> {
        self.u16(flags)?;
        self.blank();
        self.u8(protocol)?;
        self.blank();
        self.u8(algorithm)?;
        self.base64(key)
    }

    fn tlsa(&mut self, [usage, selector, matching, certificate]: [&'static str; 4]) -> Result<(), Problem> {
        self.u8(usage)?;
        self.blank();
        self.u8(selector)?;
        self.blank();
        self.u8(matching)?;
        self.hexadecimal(certificate)
    }

    fn cert(&mut self) -> Result<(), Problem> {
        const KINDS: &[(&[u8], u16)] = &[
            (b"PKIX", 1),
            (b"SPKI", 2),
            (b"PGP", 3),
            (b"IPIX", 4),
            (b"ISPKI", 5),
            (b"IPGP", 6),
            (b"ACPKIX", 7),
            (b"IACPKIX", 8),
            (b"URI", 253),
            (b"OID", 254),
        ];
        let token = self.next();
        let named = KINDS.iter().find(|(name, _)| *name == &token.text[..]).map(|(_, kind)| *kind);
        let kind = named.or_else(|| number(&token.text, u64::from(u16::MAX)).map(|kind| kind as u16));
        let kind = kind.ok_or_else(|| Problem::new("bad CERT Type", &token))?;
        self.out.extend_from_slice(&kind.to_be_bytes());
        self.blank();
        self.u16("bad CERT KeyTag")?;
        self.blank();
        self.algorithm("bad CERT Algorithm")?;
        self.base64("bad CERT Certificate")
    }

    fn algorithm(&mut self, message: &'static str) -> Result<(), Problem> {
        let token = self.next();
        let found = number(&token.text, 255).or_else(|| algorithm_number(&token.text));
        self.out.push(found.filter(|_| !token.bad).ok_or_else(|| Problem::new(message, &token))? as u8);
        Ok(())
    }

    fn rrsig(&mut self) -> Result<(), Problem> {
        let token = self.next();
        let covered = rtype(&token.text).ok_or_else(|| Problem::new("bad RRSIG Typecovered", &token))?;
        self.out.extend_from_slice(&covered.0.to_be_bytes());
        self.blank();
        self.algorithm("bad RRSIG Algorithm")?;
        self.blank();
        self.u8("bad RRSIG Labels")?;
        self.blank();
        self.u32("bad RRSIG OrigTtl")?;
        for message in ["bad RRSIG Expiration", "bad RRSIG Inception"] {
            self.blank();
            let token = self.next();
            let time = timestamp(&token.text)
                .or_else(|| number(&token.text, u64::from(u32::MAX)).map(|seconds| seconds as u32));
            self.out.extend_from_slice(&time.ok_or_else(|| Problem::new(message, &token))?.to_be_bytes());
        }
        self.blank();
        self.u16("bad RRSIG KeyTag")?;
        self.blank();
        self.name("bad RRSIG SignerName")?;
        self.base64("bad RRSIG Signature")
    }

    fn nsec(&mut self) -> Result<(), Problem> {
        const MESSAGE: &str = "bad NSEC TypeBitMap";
        self.name("bad NSEC NextDomain")?;
        let mut types = Vec::new();
        loop {
            let token = self.next();
            match token.kind {
                _ if token.bad => return Err(Problem::new(MESSAGE, &token)),
                Kind::Newline | Kind::End => break,
                Kind::Blank => {}
                Kind::Text => {
                    let found = named_type(&token.text).map(|rtype| rtype.0);
                    let found = found.or_else(|| number_after(&token.text, 4));
                    types.push(found.ok_or_else(|| Problem::new(MESSAGE, &token))?);
                }
                _ => return Err(Problem::new(MESSAGE, &token)),
            }
        }
        // An unsorted list has no wire format; miekg/dns ignores the order within an octet.
        self.unwritable |= !types.is_sorted_by_key(|rtype| rtype >> 3);
        self.bitmap(&types);
        Ok(())
    }

    /// RFC 4034 §4.1.2: windows of 256 types without trailing zero octets.
    fn bitmap(&mut self, types: &[u16]) {
        for block in types.chunk_by(|a, b| a >> 8 == b >> 8) {
            let [window, _] = block[0].to_be_bytes();
            let mut bits = [0u8; 32];
            let mut len = 0;
            for rtype in block {
                let low = usize::from(rtype & 0xFF);
                bits[low / 8] |= 0x80 >> (low % 8);
                len = len.max(low / 8 + 1);
            }
            self.out.push(window);
            self.out.push(len as u8);
            self.out.extend_from_slice(&bits[..len]);
        }
    }

    pub(super) fn absolute(&self, text: &[u8]) -> Option<wire::NameBuf> {
        absolute(text, self.origin)
    }

    fn loc(&mut self) -> Result<(), Problem> {
        let latitude = self.angle(
            90,
            [b"nN", b"sS"],
            [
                "bad LOC Latitude",
                "bad LOC Latitude minutes",
                "bad LOC Latitude seconds",
                "bad LOC Latitude North/South",
            ],
        )?;
        self.blank();
        let longitude = self.angle(
            180,
            [b"eE", b"wW"],
            [
                "bad LOC Longitude",
                "bad LOC Longitude minutes",
                "bad LOC Longitude seconds",
                "bad LOC Longitude East/West",
            ],
        )?;
        self.blank();
        let altitude = self.altitude()?;
        let mut sizes = [0x12, 0x16, 0x13];
        self.precisions(&mut sizes)?;
        self.out.push(0);
        self.out.extend_from_slice(&sizes);
        for value in [latitude, longitude, altitude] {
            self.out.extend_from_slice(&value.to_be_bytes());
        }
        Ok(())
    }

    /// Degrees, optionally minutes and seconds, then the letter of a direction.
    fn angle(
        &mut self,
        most: u64,
        directions: [&[u8]; 2],
        message: [&'static str; 4],
    ) -> Result<u32, Problem> {
        const EQUATOR: u32 = 1 << 31;
        const DEGREE: u32 = 1000 * 60 * 60;
        let mut angle = self.integer(most, message[0])? as u32 * DEGREE;
        self.blank();
        let mut token = self.next();
        let directed = |token: &Token<'_>, angle: u32| {
            if angle > most as u32 * DEGREE {
                return None;
            }
            match &token.text[..] {
                [letter] if directions[0].contains(letter) => Some(EQUATOR + angle),
                [letter] if directions[1].contains(letter) => Some(EQUATOR - angle),
                _ => None,
            }
        };
        if let Some(found) = directed(&token, angle) {
            return Ok(found);
        }
        let minutes = number(&token.text, 59).ok_or_else(|| Problem::new(message[1], &token))?;
        angle += minutes as u32 * 60_000;
        self.blank();
        token = self.next();
        let seconds = decimal(&token.text).filter(|seconds| (0.0..60.0).contains(seconds));
        angle += (1000.0 * seconds.ok_or_else(|| Problem::new(message[2], &token))?) as u32;
        self.blank();
        token = self.next();
        directed(&token, angle).ok_or_else(|| Problem::new(message[3], &token))
    }

    fn altitude(&mut self) -> Result<u32, Problem> {
        let mut token = self.next();
        let bare = token.text.strip_suffix(b"M").or_else(|| token.text.strip_suffix(b"m"));
        if let Some(bare) = bare {
            token.text = bare.to_vec().into();
        }
        let altitude = decimal(&token.text).filter(|_| !token.bad);
        let altitude = altitude.ok_or_else(|| Problem::new("bad LOC Altitude", &token))?;
        Ok((altitude * 100.0 + 10_000_000.5) as i64 as u32)
    }

    fn precisions(&mut self, sizes: &mut [u8; 3]) -> Result<(), Problem> {
        let message = ["bad LOC Size", "bad LOC HorizPre", "bad LOC VertPre"];
        let mut count = 0;
        loop {
            let token = self.next();
            match token.kind {
                _ if token.bad => return Err(Problem::new("bad LOC Size, HorizPre or VertPre", &token)),
                Kind::Newline | Kind::End => return Ok(()),
                Kind::Blank => {}
                Kind::Text => {
                    if let Some(size) = sizes.get_mut(count) {
                        *size =
                            centimetres(&token.text).ok_or_else(|| Problem::new(message[count], &token))?;
                    }
                    count += 1;
                }
                _ => return Err(Problem::new("bad LOC Size, HorizPre or VertPre", &token)),
            }
        }
    }
}

/// A size in centimetres as a digit and a power of ten (RFC 1876 §2).
fn centimetres(text: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(text).ok()?;
    let text = text.strip_suffix(['M', 'm']).unwrap_or(text);
    let (metres, hundredths) = match text.split_once('.') {
        Some((metres, hundredths)) => (metres, Some(hundredths)),
        None => (text, None),
    };
    let mut centimetres = 0;
    if let Some(digits) = hundredths {
        if digits.len() > 2 {
            return None;
        }
        centimetres = number(digits.as_bytes(), 99)? * if digits.len() == 1 { 10 } else { 1 };
    }
    let mut whole = 0;
    if hundredths.is_none() || !metres.is_empty() {
        whole = number(metres.as_bytes(), 90_000_000)?;
        if whole == 90_000_000 && centimetres != 0 {
            return None;
        }
    }
    let (mut power, mut value) = if whole > 0 { (2, whole) } else { (0, centimetres) };
    while value >= 10 {
        power += 1;
        value /= 10;
    }
    Some(power & 0x0F | (value as u8) << 4)
}

fn decimal(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let plain =
        text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'));
    plain.then(|| text.parse().ok()).flatten()
}

/// A type by its mnemonic or as `TYPE123`.
fn rtype(text: &[u8]) -> Option<Rtype> {
    let prefixed = text.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case(b"TYPE"));
    named_type(text).or_else(|| prefixed.then(|| number_after(text, 4)).flatten().map(Rtype))
}

fn algorithm_number(name: &[u8]) -> Option<u64> {
    const NAMES: &[(&[u8], u64)] = &[
        (b"RSAMD5", 1),
        (b"DH", 2),
        (b"DSA", 3),
        (b"RSASHA1", 5),
        (b"DSA-NSEC3-SHA1", 6),
        (b"RSASHA1-NSEC3-SHA1", 7),
        (b"RSASHA256", 8),
        (b"RSASHA512", 10),
        (b"ECC-GOST", 12),
        (b"ECDSAP256SHA256", 13),
        (b"ECDSAP384SHA384", 14),
        (b"ED25519", 15),
        (b"ED448", 16),
        (b"INDIRECT", 252),
        (b"PRIVATEDNS", 253),
        (b"PRIVATEOID", 254),
    ];
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// `YYYYMMDDHHMMSS` in seconds since 1970, modulo 2³².
fn timestamp(text: &[u8]) -> Option<u32> {
    if text.len() != 14 {
        return None;
    }
    let part = |from: usize, to: usize| number(&text[from..to], 9999).map(|number| number as i64);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days_of_month).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Days since 1970, for years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 719_469;
    Some((days * 86_400 + hour * 3_600 + minute * 60 + second) as u32)
}

/// The error of Go's `encoding/hex`.
fn bad_hexadecimal(text: &[u8]) -> String {
    match text.iter().find(|byte| !byte.is_ascii_hexdigit()) {
        Some(byte) => {
            let c = char::from(*byte);
            let shown = if c.is_ascii_graphic() { format!("'{c}'") } else { format!("'\\x{byte:02x}'") };
            format!("encoding/hex: invalid byte: U+{byte:04X} {shown}")
        }
        None => "encoding/hex: odd length hex string".into(),
    }
}
